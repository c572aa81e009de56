(() => {
  const form = document.querySelector("form.bar"), sheet = document.querySelector(".sheet");
  const fields = [...form.querySelectorAll(".filters [name]")], layers = [...form.querySelectorAll(".layers input")];
  const usual = new Map(layers.map((box) => [box, box.defaultChecked]));
  const views = [...sheet.querySelectorAll("article")].map((card, place) => {
    const facts = JSON.parse(card.dataset.facts), shares = Object.values(facts.sizes).flat();
    const relations = Object.values(facts.relations).reduce((sum, n) => sum + n, 0);
    const by = { boxes: facts.boxes, size: shares.length ? Math.max(...shares) : NaN, relations };
    return { card, place, facts, by, name: card.querySelector("h2").textContent };
  });
  const within = { small: (s) => s < 0.01, medium: (s) => s >= 0.01 && s <= 0.1, large: (s) => s > 0.1 };
  const fits = ({ facts }, want) =>
    want.q.toLowerCase().replaceAll("_", " ").split(/\s+/).every((word) => facts.text.includes(word)) &&
    (!want.category || want.category in facts.sizes) &&
    (!want.relation || want.relation in facts.relations) &&
    (!want.flag || facts.flags.includes(want.flag)) &&
    (!want.boxes || facts.boxes >= Number(want.boxes)) &&
    (!(want.size in within) || (want.category ? facts.sizes[want.category] : Object.values(facts.sizes).flat()).some(within[want.size]));
  const order = (sort) => (a, b) => {
    if (sort === "-name") return a.name.localeCompare(b.name, undefined, { numeric: true }) || a.place - b.place;
    const key = sort.replace("-", ""), [x, y] = [a.by[key], b.by[key]];
    if (!sort || Number.isNaN(x) || Number.isNaN(y)) return sort ? Number.isNaN(x) - Number.isNaN(y) || a.place - b.place : a.place - b.place;
    return (sort[0] === "-" ? x - y : y - x) || a.place - b.place;
  };
  let sorted = "";
  const apply = () => {
    const want = { q: "", category: "", relation: "", flag: "", size: "", boxes: "", sort: "" };
    for (const field of fields) want[field.name] = field.value.trim();
    let shown = 0;
    for (const view of views) shown += !(view.card.hidden = !fits(view, want));
    if (want.sort !== sorted) sheet.append(...views.toSorted(order((sorted = want.sort))).map((view) => view.card));
    form.querySelector("output").textContent = `${shown} of ${views.length} view${views.length === 1 ? "" : "s"}`;
    document.querySelector(".none").hidden = shown > 0 || !views.length;
    form.querySelector("[type=reset]").hidden = !Object.values(want).some(Boolean);
    return want;
  };
  const save = () => {
    const state = new URLSearchParams(Object.entries(apply()).filter(([, value]) => value));
    if (layers.some((box) => box.checked !== usual.get(box)))
      state.set("layers", layers.filter((box) => box.checked).map((box) => box.id.slice(3)).join(" "));
    history.replaceState(null, "", state.size ? `#${state}` : location.pathname + location.search);
  };
  const restore = () => {
    const state = new URLSearchParams(location.hash.slice(1));
    for (const field of fields) {
      field.value = state.get(field.name) ?? "";
      if (field.selectedIndex < 0) field.value = "";
    }
    const on = state.get("layers")?.split(" ");
    for (const box of layers) box.checked = on ? on.includes(box.id.slice(3)) : usual.get(box);
    apply();
  };
  form.addEventListener("input", save);
  form.addEventListener("submit", (event) => event.preventDefault());
  const clear = () => {
    for (const field of fields) field.value = "";
    save();
  };
  form.addEventListener("reset", (event) => { event.preventDefault(); clear(); });
  document.querySelector(".none button").addEventListener("click", () => { clear(); fields[0].focus(); });
  addEventListener("hashchange", restore);
  addEventListener("keydown", (event) => {
    const typing = event.target.matches("input:not([type=checkbox]), select, textarea");
    if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey) { event.preventDefault(); fields[0].focus(); }
  });
  form.querySelector(".filters").hidden = false;
  restore();

  // One object of a view named at a time: under the pointer, or reached by the arrow keys.
  let named = null;
  const name = (card, n) => {
    for (const one of named?.querySelectorAll(".on") ?? []) one.classList.remove("on");
    named = n === null ? null : card;
    if (n === null) return;
    for (const one of card.querySelectorAll(`[data-n="${n}"], [data-label="${n}"]`)) one.classList.add("on");
    card.dataset.at = n;
  };
  const target = (event) => event.target.closest?.("[data-n]");
  for (const { card } of views) {
    const canvas = card.querySelector(".canvas");
    card.addEventListener("pointerover", (event) => { const one = target(event); name(card, one ? one.dataset.n : null); });
    card.addEventListener("pointerleave", () => name(card, null));
    canvas.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key], rows = card.querySelectorAll("li[data-n]");
      if (event.key === "Escape") name(card, null);
      if (!step || !rows.length || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      const at = named === card ? (Number(card.dataset.at) + step + rows.length) % rows.length : step > 0 ? 0 : rows.length - 1;
      name(card, at);
      document.querySelector(".heard").textContent = rows[at].textContent.trim();
    });
    canvas.addEventListener("blur", () => name(card, null));
  }
})();
