"use strict";
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const id = (name) => document.getElementById(name);

  // Colours: those of the system until the reader chooses; the choice is kept where that is allowed.
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

  // Filters: a kata is shown if it has every word, the lecture and one of the states.
  const form = id("filters");
  const words = (card) => `${card.id} ${card.closest(".lecture").querySelector("h3").textContent} ${card.textContent}`;
  const katas = all(".kata").map((card) => ({ card, text: words(card).toLowerCase() }));
  const filter = () => {
    const wanted = id("text").value.toLowerCase().split(/\s+/).filter(Boolean);
    const lecture = id("lecture").value;
    const states = all("[name=state]:checked", form).map((box) => box.value);
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
  // A browser may have kept what was chosen before a reload.
  filter();

  // A link to what a filter hides clears the filter; a link to a kata opens it.
  const arrive = () => {
    // Every id is in ASCII.
    const target = id(location.hash.slice(1));
    if (!target) return;
    if (target.closest("[hidden]")) { form.reset(); setTimeout(() => target.scrollIntoView()); }
    const more = target.matches(".kata") && target.querySelector("details");
    if (more) more.open = true;
  };
  addEventListener("hashchange", arrive);
  arrive();

  // An episode is asked for when it is to be played, and not before.
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
