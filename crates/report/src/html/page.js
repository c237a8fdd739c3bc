// Makes the charts answer to the hand. Without it the drawings and tables below them say the same.
(() => {
  "use strict";
  if (typeof echarts === "undefined") return;
  const root = document.documentElement;
  root.classList.add("scripted");
  const text = echarts.format.encodeHTML;

  // Numbers as the rest of the page writes them.
  const digits = (v) => {
    const size = Math.abs(v);
    if (size === 0) return "0";
    if (size >= 999.5) return Math.round(v).toLocaleString("en-US");
    if (size >= 99.95) return v.toFixed(0);
    if (size >= 9.995) return v.toFixed(1);
    if (size >= 0.9995) return v.toFixed(2);
    return v.toPrecision(3);
  };
  const plain = (v) => (Number.isInteger(v) || Math.abs(v) >= 999.5 ? Math.round(v).toLocaleString("en-US") : digits(v));
  const scaled = (v, steps) => {
    const [scale, name] = steps.find(([, , below]) => Math.abs(v) < below) || steps[steps.length - 1];
    return `${digits(v / scale)} ${name}`;
  };
  const TIMES = [[1e-3, "ns", 0.9995], [1, "µs", 999.5], [1e3, "ms", 999500], [1e6, "s", Infinity]];
  const BYTES = [[1, "B", 1024], [1024, "KiB", 1048576], [1048576, "MiB", 1073741824], [1073741824, "GiB", Infinity]];
  const show = (unit, v) => {
    switch (unit) {
      case "us": return v === 0 ? "0 µs" : scaled(v, TIMES);
      case "ns": return v === 0 ? "0 µs" : scaled(v / 1e3, TIMES);
      case "s": return v === 0 ? "0 µs" : scaled(v * 1e6, TIMES);
      case "bytes": return scaled(v, BYTES);
      case "share": return `${digits(v * 100)} %`;
      default: return plain(v) + (unit === "per_second" ? "/s" : "");
    }
  };
  // What the drawing writes at a mark: a logarithm and its power differ in the last digit.
  const written = (marks) => (v) => {
    const off = (mark) => Math.abs(mark[0] - v);
    return marks.length ? marks.reduce((best, mark) => (off(mark) < off(best) ? mark : best))[1] : "";
  };
  const quantile = (v) => `p${+((1 - 10 ** -v) * 100).toFixed(4)}`;
  const across = (axis, v) =>
    axis.scale === "quantile" ? quantile(v) : axis.scale === "category" ? String(v) : show(axis.unit, v);

  // `var(--x)` means another colour in light and in dark.
  const resolve = (node, style) => {
    if (typeof node === "string") {
      return node.startsWith("var(") ? style.getPropertyValue(node.slice(4, -1)).trim() : node;
    }
    if (Array.isArray(node)) return typeof node[0] === "number" ? node : node.map((one) => resolve(one, style));
    if (node && typeof node === "object") {
      return Object.fromEntries(Object.entries(node).map(([key, value]) => [key, resolve(value, style)]));
    }
    return node;
  };

  // The interval as a band: one polygon for the whole series.
  const band = (series) => {
    const rows = series.data;
    series.silent = true;
    series.z = 1;
    series.encode = { x: 0, y: [1, 2] };
    series.renderItem = (params, api) => {
      if (params.dataIndex > 0) return undefined;
      const fill = series.itemStyle.color;
      const upper = rows.map((row) => api.coord([row[0], row[2]]));
      const lower = rows.map((row) => api.coord([row[0], row[1]])).reverse();
      if (rows.length === 1) {
        const [[x, y1], [, y2]] = [upper[0], lower[0]];
        return { type: "line", shape: { x1: x, y1, x2: x, y2 }, style: { stroke: fill, lineWidth: 2, opacity: 0.5 } };
      }
      return { type: "polygon", shape: { points: [...upper, ...lower] }, style: { fill, opacity: series.itemStyle.opacity } };
    };
  };

  const marker = (colour) => `<span style="display:inline-block;width:9px;height:9px;border-radius:50%;background:${colour}"></span>`;

  // What is under the pointer: every series at that place, the largest first.
  const readout = (meta) => (params) => {
    const list = Array.isArray(params) ? params : [params];
    if (!Array.isArray(params)) {
      const [x, y] = params.value;
      return `<div class="tip"><b>${text(params.seriesName)}</b><br>${text(meta.x.name)}: ${text(across(meta.x, x))}<br>${text(meta.y.name)}: ${text(show(meta.y.unit, y))}</div>`;
    }
    const rows = list.filter((p) => (p.seriesType === "line" || p.seriesType === "bar") && typeof p.value[1] === "number");
    if (!rows.length) return "";
    if (rows[0].seriesType === "line") rows.sort((a, b) => b.value[1] - a.value[1]);
    const body = rows.slice(0, 20).map((p) => {
      const [, y, low, high, standing, part] = p.value;
      const range = typeof low === "number" ? `${show(meta.y.unit, low)} – ${show(meta.y.unit, high)}` : "";
      const name = part ? `${p.seriesName} ${part}` : p.seriesName;
      return `<tr><td>${marker(p.color)} ${text(name)}</td><td style="text-align:right"><b>${text([standing === "at least" ? standing : "", show(meta.y.unit, y)].join(" ").trim())}</b>${standing && standing !== "at least" ? ` (${text(standing)})` : ""}</td><td>${text(range)}</td></tr>`;
    });
    const x = meta.x.scale === "category" ? rows[0].name : rows[0].value[0];
    return `<div class="tip">${text(meta.x.name)}: <b>${text(across(meta.x, x))}</b><table>${body.join("")}</table></div>`;
  };

  const prepare = (meta) => {
    const style = getComputedStyle(root);
    const colour = (name) => style.getPropertyValue(name).trim();
    const options = resolve(meta.options, style);
    const [x] = [].concat(options.xAxis);
    const [y] = [].concat(options.yAxis);
    const [ink, muted, rule, raised] = ["--ink", "--muted", "--rule", "--raised"].map(colour);
    options.textStyle = { fontFamily: getComputedStyle(document.body).fontFamily };
    options.backgroundColor = "transparent";
    for (const [axis, about] of [[x, meta.x], [y, meta.y]]) {
      axis.nameTextStyle = { color: muted, fontSize: 12 };
      axis.axisLine = { show: axis === x, lineStyle: { color: rule } };
      axis.axisTick = { ...(axis.axisTick || {}), show: axis === x, lineStyle: { color: rule } };
      axis.minorTick = { show: false };
      if (about.scale !== "category") axis.axisLabel.formatter = written(about.marks);
      axis.axisLabel.hideOverlap = true;
      axis.axisPointer = { label: { show: false }, lineStyle: { color: muted }, snap: true };
    }
    x.splitLine.show = false;
    x.nameLocation = "middle";
    x.nameGap = 30;
    y.name = "";
    options.tooltip = {
      ...options.tooltip, confine: true, formatter: readout(meta), backgroundColor: raised, borderColor: rule,
      textStyle: { color: ink }, padding: [7, 10], transitionDuration: 0,
      axisPointer: { type: meta.x.scale === "category" ? "shadow" : "line", shadowStyle: { color: muted, opacity: 0.08 } },
    };
    options.aria = { enabled: false };
    // All points at once. Drawn 400 at a time, as is usual from 3,000 on, whoever prints the page or
    // opens it in the background sees the left part of a curve and takes it for the whole.
    options.progressive = 0;
    for (const series of options.series) {
      if (series.type === "custom") band(series);
      if (series.type === "scatter") Object.assign(series, { symbolKeepAspect: true, z: 2, emphasis: { disabled: true } });
      if (series.type === "scatter" && String(series.id).endsWith(":mark")) series.z = 6;
      if (series.type === "line") {
        // An arrow says "at least" in the symbol's place.
        series.data = series.data.map((row) => (row[4] === "at least" ? { value: row, symbol: "none" } : row));
      }
      if (series.type === "line") Object.assign(series, { emphasis: { focus: "none" }, triggerLineEvent: false });
      if (series.type === "bar") {
        series.barMaxWidth = 46;
        for (const [i, row] of series.data.entries()) {
          if (row[4] === "invalid") {
            series.data[i] = { value: row, itemStyle: { color: "transparent", borderColor: series.itemStyle.color, borderType: "dashed" } };
          }
        }
      }
    }
    return options;
  };

  const charts = [];
  const draw = (figure) => {
    const meta = JSON.parse(figure.querySelector("script").textContent);
    const stage = figure.querySelector(".stage");
    const live = figure.querySelector(".live");
    live.hidden = false;
    stage.classList.add("drawn");
    const chart = echarts.init(live, null, { renderer: meta.renderer });
    chart.setOption(prepare(meta));
    live.setAttribute("role", "img");
    live.setAttribute("aria-label", figure.querySelector(".still").getAttribute("aria-label"));
    const hidden = new Set();
    const apply = () => {
      for (const button of figure.querySelectorAll(".legend button")) {
        const off = hidden.has(button.dataset.name);
        button.setAttribute("aria-pressed", String(!off));
        chart.dispatchAction({ type: off ? "legendUnSelect" : "legendSelect", name: button.dataset.name });
      }
      for (const group of figure.querySelectorAll(".still g")) {
        group.style.display = hidden.has(group.dataset.name) ? "none" : "";
      }
    };
    figure.querySelector(".legend").addEventListener("click", (event) => {
      const button = event.target.closest("button");
      if (!button) return;
      const names = [...figure.querySelectorAll(".legend button")].map((one) => one.dataset.name);
      const name = button.dataset.name;
      if (event.altKey) {
        // Only this one, or all again.
        const alone = !hidden.has(name) && hidden.size === names.length - 1;
        hidden.clear();
        if (!alone) names.filter((other) => other !== name).forEach((other) => hidden.add(other));
      } else if (!hidden.delete(name)) {
        hidden.add(name);
      }
      apply();
    });
    charts.push({ chart, meta, apply });
    new ResizeObserver(() => chart.resize()).observe(live);
  };

  // One after the other, so that the page answers in between.
  const waiting = [...document.querySelectorAll("figure.chart")];
  const next = () => {
    const figure = waiting.shift();
    if (!figure) {
      root.classList.add("complete");
      return;
    }
    draw(figure);
    setTimeout(next, 0);
  };
  next();

  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    for (const { chart, meta, apply } of charts) {
      chart.setOption(prepare(meta), true);
      apply();
    }
  });

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
