"use strict";
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const id = (name) => document.getElementById(name);

  // Colours follow the system until the reader chooses; localStorage, if allowed, keeps the choice.
  const themes = ["system", "light", "dark"];
  const button = id("theme");
  const kept = () => { try { return localStorage.getItem("katas-theme"); } catch { return null; } };
  const keep = (theme) => { try { localStorage.setItem("katas-theme", theme); } catch { /* no matter */ } };
  const show = (theme) => {
    document.documentElement.dataset.theme = theme;
    button.firstElementChild.textContent = theme;
  };
  show(themes.includes(kept()) ? kept() : "system");
  button.hidden = false;
  button.addEventListener("click", () => {
    const theme = themes[(themes.indexOf(document.documentElement.dataset.theme) + 1) % themes.length];
    show(theme);
    keep(theme);
  });

  // Filters: a kata is shown if it has every word, the lecture and one of the states. What a
  // filter finds is unfolded; without one, the lectures are folded as the reader has left them.
  const form = id("filters");
  // On a phone the filters are a fold, which only the reader closes.
  const fold = form.querySelector("details");
  const phone = matchMedia("(max-width: 40rem)");
  const fit = () => { fold.open ||= !phone.matches; };
  phone.addEventListener("change", fit);
  fit();
  const words = (card) => `${card.id} ${card.closest(".lecture").querySelector("h3").textContent} ${card.textContent}`;
  const katas = all(".kata").map((card) => ({ card, text: words(card).toLowerCase() }));
  const folds = all(".lecture > details");
  let left = null;
  const unfold = (narrowed) => {
    if (narrowed) left ??= folds.filter((fold) => fold.open);
    for (const fold of left ? folds : []) fold.open = narrowed || left.includes(fold);
    if (!narrowed) left = null;
  };
  const filter = () => {
    const wanted = id("text").value.toLowerCase().split(/\s+/).filter(Boolean);
    const lecture = id("lecture").value;
    const states = all("[name=state]:checked", form).map((box) => box.value);
    const narrowed = Boolean(wanted.length || lecture || states.length);
    fold.open ||= narrowed;
    unfold(narrowed);
    let found = 0;
    for (const { card, text } of katas) {
      const shown = wanted.every((word) => text.includes(word))
        && (!lecture || card.dataset.lecture === lecture)
        && (!states.length || states.includes(card.dataset.state));
      card.hidden = !shown;
      found += shown;
    }
    for (const section of all(".lecture")) {
      section.hidden = !section.querySelector(".kata:not([hidden])");
    }
    id("none").hidden = found > 0;
    id("found").textContent = `${found} of ${katas.length} katas`;
  };
  form.addEventListener("input", filter);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(filter));
  form.hidden = false;
  // A browser may restore the form after a reload.
  filter();

  // A link to what a filter hides clears the filter; a link to a lecture or a kata opens it.
  const open = (target) => {
    const lecture = target.closest(".lecture")?.querySelector("details");
    const more = target.matches(".kata") && target.querySelector(".more");
    for (const fold of [lecture, more]) if (fold) fold.open = true;
    target.scrollIntoView();
  };
  const arrive = () => {
    // Every id is in ASCII.
    const target = id(location.hash.slice(1));
    if (!target) return;
    if (!target.closest("[hidden]")) { open(target); return; }
    form.reset();
    setTimeout(() => open(target)); // after the filter's own
  };
  addEventListener("hashchange", arrive);
  arrive();

  // An episode is loaded only when it is played.
  for (const play of all(".play")) {
    play.hidden = false;
    play.addEventListener("click", () => {
      const player = document.createElement("audio");
      player.controls = true;
      player.setAttribute("aria-label", play.getAttribute("aria-label").replace("Play ", ""));
      player.src = play.dataset.audio;
      for (const other of all("audio")) other.pause();
      play.replaceWith(player);
      player.focus();
      player.play().catch(() => { /* the player shows that it cannot */ });
    });
  }
})();
