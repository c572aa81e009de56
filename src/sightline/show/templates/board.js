(() => {
  const form = document.querySelector("form.board");
  const rows = [...document.querySelectorAll("tr[data-model]")];
  const sections = [...document.querySelectorAll("section.exam")];
  const grids = [...document.querySelectorAll("table.grid")];
  const apply = () => {
    const wanted = form.elements.model.value.trim().toLowerCase();
    const blind = form.elements.blind.checked;
    const fits = (name, isBlind) => name.toLowerCase().includes(wanted) && (blind || !isBlind);
    const blinds = new Set(rows.filter((row) => row.classList.contains("blind")).map((row) => row.dataset.model));
    for (const row of rows) row.hidden = !fits(row.dataset.model, blinds.has(row.dataset.model));
    for (const grid of grids) {
      const heads = [...grid.querySelectorAll("thead th")];
      heads.forEach((head, i) => {
        const hide = !fits(head.dataset.model, blinds.has(head.dataset.model));
        head.hidden = hide;
        for (const line of grid.tBodies[0].rows) line.cells[i + 1].hidden = hide;
      });
    }
    const exam = form.elements.exam.value;
    const data = form.elements.data ? form.elements.data.value : "";
    for (const one of sections) one.hidden = (exam && one.dataset.exam !== exam) || (data && one.dataset.data !== data);
    const names = new Set(rows.map((row) => row.dataset.model));
    const shown = new Set(rows.filter((row) => !row.hidden).map((row) => row.dataset.model));
    form.querySelector("output").textContent = shown.size ? `${shown.size} of ${names.size} models` : "no model fits";
  };
  form.addEventListener("input", apply);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.hidden = false;
  apply();
})();
