// Lets the pointer read the charts, and the legend hide a series. Without it the drawings and the
// tables below them say the same.
(() => {
  "use strict";
  const root = document.documentElement;
  root.classList.add("scripted");

  const make = (name, text) => {
    const element = document.createElement(name);
    if (text !== undefined) element.textContent = text;
    return element;
  };

  // The rows of a read-out: each series that is seen and has something to say at that place.
  const rows = (seen, place) => seen.flatMap((series) => {
    const at = series.at.reduce((best, stop) => (Math.abs(stop[0] - place) < Math.abs(best[0] - place) ? stop : best));
    return Math.abs(at[0] - place) > 0.006 ? [] : [{ series, at }];
  });

  const readout = (across, found) => {
    const [first] = found;
    const heading = make("p", `${across}: `);
    heading.append(make("b", first.at[1]));
    const table = make("table");
    for (const { series, at: [, , up, range] } of found.slice(0, 20)) {
      const row = table.insertRow();
      const name = row.insertCell();
      const dot = make("i");
      dot.style.background = series.colour;
      name.append(dot, series.part ? `${series.name} ${series.part}` : series.name);
      row.insertCell().append(make("b", up));
      row.insertCell().textContent = range;
    }
    return [heading, table];
  };

  const enliven = (figure) => {
    const stage = figure.querySelector(".stage");
    const hidden = new Set();
    // What can be read is unpacked when somebody comes to read it.
    let unpacked;
    const data = () => (unpacked ??= JSON.parse(figure.querySelector("script").textContent));
    const tip = make("div");
    tip.className = "tip";
    tip.hidden = true;
    stage.append(tip);
    const leave = () => {
      tip.hidden = true;
      stage.classList.remove("read");
    };
    const read = (event) => {
      const svg = [...stage.querySelectorAll(".still")].find((one) => one.getClientRects().length);
      const box = svg.getBoundingClientRect();
      const unit = box.width / svg.viewBox.baseVal.width;
      const [across, up] = [(event.clientX - box.left) / unit, (event.clientY - box.top) / unit];
      // Where each has a panel, that one alone is read, with what is in all panels.
      const panels = [...svg.querySelectorAll(".panel")];
      const names = panels.map((one) => one.dataset.name);
      const panel = panels.find(({ dataset: { left, right, top, bottom } }) =>
        across >= left - 12 && across <= Number(right) + 12 && up >= top - 12 && up <= bottom);
      if (panels.length && !panel) return leave();
      const { left: from, right: to, top = "0" } = (panel ?? svg).dataset;
      const [left, right] = [Number(from), Number(to)];
      const share = (across - left) / (right - left);
      const own = (series) => !panel || series.name === panel.dataset.name || !names.includes(series.name);
      const seen = data().series.filter((series) => own(series) && !hidden.has(series.name));
      const stops = seen.flatMap((series) => series.at);
      if (!stops.length || share < -0.04 || share > 1.04) return leave();
      const [place] = stops.reduce((best, stop) => (Math.abs(stop[0] - share) < Math.abs(best[0] - share) ? stop : best));
      tip.replaceChildren(...readout(data().across, rows(seen, place)));
      tip.hidden = false;
      stage.classList.add("read");
      const x = left + place * (right - left);
      svg.querySelector(".cursor").setAttribute("transform", `translate(${x} ${top})`);
      // Beside the cursor, on the side that has room.
      tip.style.top = panel ? `${(Number(panel.dataset.bottom) + 6) * unit}px` : "";
      const inside = box.left - stage.getBoundingClientRect().left + x * unit;
      const room = stage.clientWidth - tip.offsetWidth;
      tip.style.left = `${Math.max(0, inside + 12 <= room ? inside + 12 : Math.min(room, inside - 12 - tip.offsetWidth))}px`;
    };
    stage.addEventListener("pointermove", read);
    stage.addEventListener("pointerdown", read);
    stage.addEventListener("pointerleave", leave);
    const legend = figure.querySelector(".legend");
    legend.addEventListener("click", (event) => {
      const button = event.target.closest("button");
      if (!button) return;
      const buttons = [...legend.querySelectorAll("button")];
      const names = buttons.map((one) => one.dataset.name);
      const name = button.dataset.name;
      if (event.altKey) {
        // Only this one, or all again.
        const alone = !hidden.has(name) && hidden.size === names.length - 1;
        hidden.clear();
        if (!alone) names.filter((other) => other !== name).forEach((other) => hidden.add(other));
      } else if (!hidden.delete(name)) {
        hidden.add(name);
      }
      for (const one of buttons) one.setAttribute("aria-pressed", String(!hidden.has(one.dataset.name)));
      for (const group of stage.querySelectorAll(".still g")) {
        group.style.display = hidden.has(group.dataset.name) ? "none" : "";
      }
    });
  };
  document.querySelectorAll("figure.chart").forEach(enliven);

  // A table that does not fit says that it scrolls.
  const measure = () => {
    for (const box of document.querySelectorAll(".scroll")) {
      box.classList.toggle("wide", box.scrollWidth > box.clientWidth + 1);
    }
  };
  measure();
  addEventListener("resize", measure);
  addEventListener("toggle", measure, true);

  // Paper shows what is folded; afterwards it folds again.
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details:not([open])")];
    opened.forEach((one) => { one.open = true; });
  });
  addEventListener("afterprint", () => opened.forEach((one) => { one.open = false; }));
})();
