(() => {
  const form = document.querySelector("form.filter");
  if (form) {
    const examples = [...document.querySelectorAll(".example")];
    const apply = () => {
      const wanted = [...form.querySelectorAll("select")].map((select) => [select.name, select.value]);
      for (const one of examples) one.hidden = wanted.some(([name, value]) => value && one.dataset[name] !== value);
      for (const group of document.querySelectorAll("[data-group]")) group.hidden = !group.querySelector(".example:not([hidden])");
      form.querySelector("output").textContent = `${examples.filter((one) => !one.hidden).length} of ${examples.length} shown`;
    };
    form.addEventListener("change", apply);
    form.hidden = false;
    apply();
  }
  addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((one) => (one.open = true)));
})();
