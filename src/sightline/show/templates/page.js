(() => {
  const form = document.querySelector("form.filter");
  if (form) {
    const examples = [...document.querySelectorAll(".example")];
    const apply = () => {
      const wanted = [...form.querySelectorAll("select")].map((select) => [select.name, select.value]);
      for (const one of examples) one.hidden = wanted.some(([name, value]) => value && one.dataset[name] !== value);
      for (const group of document.querySelectorAll("[data-group]")) group.hidden = !group.querySelector(".example:not([hidden])");
      const shown = examples.filter((one) => !one.hidden).length;
      form.querySelector("output").textContent = shown ? `${shown} of ${examples.length} shown` : "no example fits: set one choice back to all";
    };
    form.addEventListener("change", apply);
    form.hidden = false;
    apply();
  }
  // Below a table that is cut off at its right edge: that it goes on.
  const scrolls = [...document.querySelectorAll(".scroll")].map((box) => {
    const more = document.createElement("small");
    more.className = "more";
    more.textContent = "more to the right →";
    more.setAttribute("aria-hidden", "true");
    more.hidden = true;
    box.after(more);
    return [box, more];
  });
  const cut = () => { for (const [box, more] of scrolls) more.hidden = box.scrollWidth - box.clientWidth - box.scrollLeft < 2 && box.scrollLeft === 0; };
  new ResizeObserver(cut).observe(document.body);
  cut();
  addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((one) => (one.open = true)));
})();
