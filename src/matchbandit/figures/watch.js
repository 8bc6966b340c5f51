"use strict";
// A run, frame by frame: plain SVG, drawn anew for each frame and each width.
(function () {
  const film = JSON.parse(document.getElementById("data").textContent);
  const frames = film.frames, last = frames.length - 1, horizon = Math.max(2, frames[last].round);
  const byId = (id) => document.getElementById(id);
  const SVG = "http://www.w3.org/2000/svg";
  const GAP = 13, NARROW = 520;
  let now = last, timer = null;

  function node(name, attributes, ...children) {
    const made = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes || {})) made.setAttribute(key, value);
    for (const child of children) made.append(child);
    return made;
  }
  const told = (shape, words) => { shape.append(node("title", {}, words)); return shape; };
  const text = (x, y, words, more) => node("text", Object.assign({ x, y, dy: "0.35em" }, more), words);
  const line = (x1, y1, x2, y2, more) => node("line", Object.assign({ x1, y1, x2, y2 }, more));
  const path = (points, more) => node("path", Object.assign({ d: points.length ? "M" + points.map(([x, y]) => x.toFixed(1) + " " + y.toFixed(1)).join("L") : "" }, more));

  const grouped = (n) => String(Math.round(n)).replace(/\B(?=(\d{3})+$)/g, ",");
  const digits = (x) => (Math.abs(x) >= 1000 ? grouped(x) : String(Number(x.toPrecision(3))));
  const raised = (n) => String(n).replace(/\d/g, (d) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[d]);
  // Numbers, pairs and intervals stay on one line.
  const unbroken = (words) => words.replace(/(\d,) (?=\d+\))/g, "$1\u00a0").replace(/ ± /g, "\u00a0±\u00a0");
  const percent = (share) => (share >= 0.0995 ? Math.round(100 * share) : Number((100 * share).toPrecision(2))) + "\u202f%";
  const pairName = (p) => "(" + film.items[film.pairs[p][0]].number + ", " + film.items[film.pairs[p][1]].number + ")";
  const shade = (share) => film.scale[Math.round(share * (film.scale.length - 1))];

  // A drawing of this width and height in the element of this id, empty.
  function canvas(id, height, label) {
    const place = byId(id), width = Math.max(260, place.clientWidth);
    const svg = node("svg", { width, height, viewBox: "0 0 " + width + " " + height, role: "img", "aria-label": label });
    place.replaceChildren(svg);
    return [svg, width];
  }

  // Time on a log scale; gives where a round stands.
  function timeAxis(svg, left, right, top, bottom, marks) {
    const span = Math.log10(horizon), at = (round) => left + (right - left) * Math.log10(Math.max(1, round)) / span;
    const every = Math.max(1, Math.ceil(46 / ((right - left) / span)));
    for (let power = 0; power <= span + 1e-9; power += every) {
      const x = at(10 ** power);
      svg.append(line(x, top, x, bottom, { class: "grid" }));
      svg.append(text(x, bottom + 12, power < 3 ? String(10 ** power) : "10" + raised(power), { class: "faint", "text-anchor": power === 0 ? "start" : power > span - 0.1 ? "end" : "middle" }));
    }
    svg.append(line(left, bottom, right, bottom, { class: "rule" }));
    if (marks) {
      let from = left;
      for (const [round, number] of film.windows) {
        const x = at(Math.min(round, frames[now].round)), over = round <= frames[now].round && round < horizon;
        if (over) svg.append(told(line(x, top, x, bottom, { class: "window" }), "window " + number + " ends after " + grouped(round) + " rounds"));
        if (x - from > 62) svg.append(text((from + x) / 2, top - 7, "window " + number, { class: "faint", "text-anchor": "middle" }));
        from = x;
        if (!over) break;
      }
    }
    return at;
  }

  function valueTicks(svg, at, low, high, left, right, vertical) {
    const size = Math.abs(at(high) - at(low)), wanted = (high - low) / Math.max(2, size / 46);
    const power = 10 ** Math.floor(Math.log10(wanted)), step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= wanted);
    for (let value = Math.ceil(low / step - 1e-9) * step; value <= high + 1e-9; value += step) {
      const place = at(value), words = digits(Math.abs(value) < 1e-12 ? 0 : Number(value.toPrecision(6)));
      if (vertical) svg.append(line(left, place, right, place, { class: "grid" }), text(left - 6, place, words, { class: "faint", "text-anchor": "end" }));
      else svg.append(line(place, left, place, right, { class: "grid" }), text(place, right + 12, words, { class: "faint", "text-anchor": "middle" }));
    }
  }

  // Heights at least `gap` apart, in the same order, between low and high.
  function apart(heights, gap, low, high) {
    const order = heights.map((h, k) => k).sort((a, b) => heights[a] - heights[b]), placed = heights.slice();
    let floor = low - gap;
    for (const k of order) floor = placed[k] = Math.max(heights[k], floor + gap);
    let ceiling = high + gap;
    for (const k of order.slice().reverse()) ceiling = placed[k] = Math.min(placed[k], ceiling - gap);
    return placed;
  }

  // Names at the ends of lines: as many as there is room for, those that matter first, and how many there are besides.
  function atTheEnds(svg, x, heights, names, colours, first, low, high, besides) {
    const room = Math.floor((high - low) / GAP) + 1, all = names.map((name, k) => k);
    const order = all.slice().sort((a, b) => Number(first.includes(b)) - Number(first.includes(a)) || a - b);
    const cut = names.length > room || besides > 0, named = order.slice(0, cut ? room - 1 : room);
    const more = names.length - named.length + besides;
    apart(named.map((k) => heights[k]), GAP, low, high - (cut ? GAP : 0)).forEach((h, k) => svg.append(line(x, h, x + 8, h, { stroke: colours[named[k]], "stroke-width": 3 }), text(x + 12, h, names[named[k]], { class: "name" })));
    if (cut) svg.append(text(x + 12, high, "+" + more + " more", { class: "name faint" }));
  }

  const cursor = (svg, x, top, bottom) => svg.append(line(x, top, x, bottom, { class: "ink", "stroke-opacity": 0.35 }));
  const widest = (names) => Math.min(150, 10 + 6.6 * Math.max(1, ...names.map((n) => n.length)));
  const gapBefore = (k) => (k > 0 && film.items[k].side !== film.items[k - 1].side ? 12 : 0);

  const linkColour = (place, list) => shade(place / Math.max(1, list.length - 1));

  const stories = {
    lives() {
      const step = film.items.length > 24 ? 14 : 20, top = film.windows.length ? 20 : 8;
      const heights = [];
      let y = top + step / 2;
      film.items.forEach((item, k) => { y += gapBefore(k); heights.push(y); y += step; });
      const bottom = y - step / 2 + 4, [svg, width] = canvas("story", bottom + 22, film.titles.story);
      const left = widest(film.items.map((item) => item.name)), right = width - 8;
      const at = timeAxis(svg, left, right, top, bottom, true), end = at(frames[now].round);
      film.items.forEach((item, k) => {
        svg.append(text(left - 6, heights[k], item.name, { "text-anchor": "end" }));
        for (const [from, to] of film.lives[k]) {
          if (from > frames[now].round) break;
          svg.append(told(line(at(from), heights[k], Math.min(at(to), end), heights[k], { stroke: item.colour, "stroke-width": 5 }),
            item.name + ", in from round " + grouped(from) + (to < frames[now].round ? " to " + grouped(to) : "")));
        }
      });
      for (let f = 0; f <= now; f++) for (const [item, by, on, leaves] of frames[f].beaten) {
        const x = at(frames[f].round), h = heights[item], r = leaves ? 4 : 2.5;
        const words = film.items[by].name + " on " + on;
        const mark = node("g", { class: "ink", "stroke-width": 1.6 }, leaves ? path([[x - r, h - r], [x + r, h + r]]) : line(x, h - 5, x, h + 5));
        if (leaves) mark.append(path([[x - r, h + r], [x + r, h - r]]));
        svg.append(told(mark, film.items[item].name + (leaves ? " leaves" : " is beaten") + " after " + grouped(frames[f].round) + " rounds: " + words));
        const room = words.length * 6 + 12, back = film.lives[item].map(([from]) => from).find((from) => from > frames[f].round);
        if (leaves && x + room < (back === undefined ? right : at(back)) && frames[f].round > horizon ** 0.25) svg.append(text(x + 8, h, words, { class: "faint halo", "font-size": 10.5 }));
      }
      cursor(svg, end, top, bottom);
    },

    clusters() {
      const step = film.items.length > 24 ? 14 : 20, top = 8, row = [];
      film.standing.forEach((player, y) => { row[player] = y; });
      const bottom = top + step * film.items.length + 4, [svg, width] = canvas("story", bottom + 22, film.titles.story);
      const left = widest(film.items.map((item) => item.name)), right = width - 8;
      const at = timeAxis(svg, left, right, top, bottom, false), end = at(frames[now].round);
      film.standing.forEach((player, y) => svg.append(text(left - 6, top + step * (y + 0.5), film.items[player].name, { "text-anchor": "end" })));
      const boxes = new Map();
      for (let f = 0; f <= now; f++) {
        const until = at(f < now ? frames[f + 1].round : frames[f].round), from = at(frames[f].round);
        frames[f].clusters.forEach(([players], c) => {
          const key = players.join(), rows = players.map((p) => row[p]);
          const box = boxes.get(key) || { from, players, first: Math.min(...rows), size: players.length };
          box.until = until;
          boxes.set(key, box);
          const next = frames[f].clusters[c + 1];
          if (next && next[1] === frames[f].clusters[c][1]) {
            const y = top + step * (Math.max(...rows) + 1);
            svg.append(told(line(from, y, until, y, { class: "ink", "stroke-width": 3, "stroke-dasharray": "2 2" }), "one chain: these clusters meet each other"));
          }
        });
      }
      for (const box of boxes.values()) {
        const colour = shade((box.first + (box.size - 1) / 2) / Math.max(1, film.items.length - 1));
        svg.prepend(told(node("rect", { x: box.from, y: top + step * box.first + 2, width: Math.max(1, box.until - box.from), height: step * box.size - 4,
          fill: colour, "fill-opacity": 0.28, stroke: colour, "stroke-width": 1.4, rx: 2 }), "cluster of " + box.players.map((p) => film.items[p].name).join(", ")));
      }
      cursor(svg, end, top, bottom);
    },

    links() {
      const top = 8, bottom = 230, [svg, width] = canvas("story", bottom + 22, film.titles.story);
      const list = frames[now].links, few = width < NARROW, names = list.map(([name]) => few ? film.links[name].replace(/^player /, "").replace(" above ", " > ") : film.links[name]);
      const left = 40, right = width - (list.length ? widest(names) + 14 : 8), ends = [], needed = Math.max(...frames.flatMap((f) => f.links.map((l) => l[2])), 1);
      const low = -0.35 * needed, high = 1.5 * needed, y = (v) => bottom - (bottom - top) * (Math.min(high, Math.max(low, v)) - low) / (high - low);
      valueTicks(svg, y, low, high, left, right, true);
      const at = timeAxis(svg, left, right, top, bottom, false), end = at(frames[now].round);
      svg.append(path(frames.slice(0, now + 1).filter((f) => f.links.length).map((f) => [at(f.round), y(f.links[0][2])]), { class: "needed" }));
      list.forEach(([name, evidence], place) => {
        const colour = linkColour(place, list), points = [];
        let certain = null;
        for (let f = 0; f <= now; f++) {
          const link = frames[f].links.find((l) => l[0] === name);
          if (!link) continue;
          points.push([at(frames[f].round), y(link[1])]);
          if (link[3] && !certain) certain = points[points.length - 1];
        }
        svg.append(told(path(points, { fill: "none", stroke: colour, "stroke-width": 1.8 }), film.links[name]));
        if (certain) svg.append(told(node("circle", { cx: certain[0], cy: certain[1], r: 4, fill: colour, class: "ink-edge" }), film.links[name] + " is certain"));
        ends.push(y(evidence));
      });
      atTheEnds(svg, right + 6, ends, names, list.map((link, k) => linkColour(k, list)), [], top, bottom, 0);
      cursor(svg, end, top, bottom);
    },

    strengths() {
      const top = 8, bottom = 260, [svg, width] = canvas("story", bottom + 22, film.titles.story);
      const names = film.items.map((item) => item.name);
      const left = 36, right = width - widest(names) - 20, [low, high] = film.range;
      const y = (v) => bottom - (bottom - top) * (Math.min(high, Math.max(low, v)) - low) / (high - low);
      valueTicks(svg, y, low, high, left, right, true);
      const at = timeAxis(svg, left, right, top, bottom, false), end = at(frames[now].round), ends = [];
      film.items.forEach((item, k) => {
        const seen = frames.slice(0, now + 1).filter((f) => f.items[k] && f.items[k][2] !== null);
        const wide = seen.filter((f) => f.items[k][3] !== null);
        svg.append(path([...wide.map((f) => [at(f.round), y(f.items[k][4])]), ...wide.map((f) => [at(f.round), y(f.items[k][3])]).reverse()], { fill: item.colour, "fill-opacity": 0.12 }));
        svg.append(told(path(seen.map((f) => [at(f.round), y(f.items[k][2])]), { fill: "none", stroke: item.colour, "stroke-width": 1.8, "stroke-dasharray": item.side === "column" ? "5 3" : "none" }), item.name));
        if (item.tick !== null) svg.append(told(path([[right + 2, y(item.tick)], [right + 9, y(item.tick) - 4], [right + 9, y(item.tick) + 4]], { class: "dot" }), item.name + ": " + film.truth + " " + digits(item.truth)));
        ends.push(y(item.tick !== null ? item.tick : seen.length ? seen[seen.length - 1].items[k][2] : low));
      });
      atTheEnds(svg, right + 13, ends, names, film.items.map((item) => item.colour), [], top, bottom, 0);
      cursor(svg, end, top, bottom);
    },

    pairs() {
      const top = 8, bottom = 240, [svg, width] = canvas("story", bottom + 22, film.titles.story);
      const shown = film.lines.map((k) => film.shown[k]), best = shown.map((pair, k) => k).filter((k) => film.best.includes(shown[k]));
      const names = shown.map((pair, k) => pairName(pair) + (best.includes(k) ? " ★" : "")), left = 44, right = width - Math.max(72, widest(names)) - 12, colours = shown.map((pair, k) => shade(k / Math.max(1, shown.length - 1))), span = Math.log10(horizon + 1);
      const y = (plays) => bottom - (bottom - top) * Math.log10(plays + 1) / span;
      const every = Math.max(1, Math.ceil(span / 6));
      for (let power = 0; power <= span; power += every) svg.append(line(left, y(10 ** power), right, y(10 ** power), { class: "grid" }), text(left - 6, y(10 ** power), power < 3 ? String(10 ** power) : "10" + raised(power), { class: "faint", "text-anchor": "end" }));
      const at = timeAxis(svg, left, right, top, bottom, false), end = at(frames[now].round), ends = [];
      shown.forEach((pair, k) => {
        const plays = (frame) => frame.pairs[film.lines[k]][0];
        const points = frames.slice(0, now + 1).map((f) => [at(f.round), y(plays(f))]);
        svg.append(told(path(points, { fill: "none", stroke: colours[k], "stroke-width": best.includes(k) ? 3 : 1.5 }), pairName(pair) + ": " + grouped(plays(frames[now])) + " plays"));
        ends.push(y(plays(frames[now])));
      });
      atTheEnds(svg, right + 6, ends, names, colours, best, top, bottom, film.pairs.length - shown.length);
      cursor(svg, end, top, bottom);
    },
  };

  function links() {
    if (!byId("links")) return;
    const list = frames[now].links, step = 18, [svg, width] = canvas("links", Math.max(1, list.length) * step + 6, film.titles.links);
    const left = widest(list.map((l) => film.links[l[0]])), right = width - 62;
    list.forEach(([name, evidence, needed, certain], k) => {
      const y = step * (k + 0.5) + 2, share = Math.max(0, Math.min(1, evidence / needed));
      svg.append(text(left - 6, y, film.links[name], { "text-anchor": "end" }), node("rect", { x: left, y: y - 6, width: right - left, height: 12, class: "empty" }));
      svg.append(node("rect", { x: left, y: y - 6, width: (right - left) * share, height: 12, fill: linkColour(k, list) }));
      svg.append(text(right + 6, y, certain ? "certain" : evidence.toFixed(1) + " / " + needed.toFixed(0), { class: certain ? "" : "faint" }));
    });
  }

  function estimates() {
    const frame = frames[now], pairs = film.ofPairs, marks = pairs ? frame.pairs : frame.items;
    const names = pairs ? film.shown.map(pairName) : film.items.map((item) => item.name);
    const step = names.length > 24 ? 14 : 20, [low, high] = film.range, strip = !pairs && film.items[0].tick === null;
    const heights = [], top = strip ? 20 : 4;
    let y = top + step / 2;
    names.forEach((name, k) => { y += pairs ? 0 : gapBefore(k); heights.push(y); y += step; });
    const bottom = y - step / 2 + 4, [svg, width] = canvas("estimates", bottom + 22, film.titles.estimates);
    const left = widest(names), right = width - (strip ? 84 : 14), at = (v) => left + (right - left) * (Math.min(high, Math.max(low, v)) - low) / (high - low);
    valueTicks(svg, at, low, high, top, bottom, false);
    if (strip) svg.append(text(width - 37, 8, "truth", { class: "faint", "text-anchor": "middle" }));
    names.forEach((name, k) => {
      const mark = marks[k], h = heights[k], item = pairs ? null : film.items[k];
      svg.append(text(left - 6, h, name, { "text-anchor": "end" }));
      const truth = pairs ? film.means[film.shown[k]] : item.truth;
      if (mark) {
        const [estimate, from, to] = pairs ? mark.slice(1) : mark.slice(2), active = pairs || mark[0];
        const colour = pairs ? shade(k / Math.max(1, names.length - 1)) : item.colour, look = active ? { stroke: colour, fill: colour } : { class: "out" };
        const words = name + (active ? "" : ", out") + ": " + (estimate === null ? "no estimate yet" : digits(estimate) + (film.stale ? " now" : "") + (from === null ? "" : (film.stale ? "; when last checked from " : ", from ") + digits(from) + " to " + digits(to)))
          + "; " + grouped(pairs ? mark[0] : mark[1]) + (pairs ? " plays" : " samples") + "; " + film.truth + " " + digits(truth);
        const group = node("g", look);
        if (from !== null && to !== null) group.append(line(at(from), h, at(to), h, { "stroke-width": 5 }));
        if (estimate !== null) group.append(node("circle", Object.assign({ cx: at(estimate), cy: h, r: 4 }, film.stale ? { class: "ring" } : {})));
        svg.append(told(group, words));
      }
      const tick = pairs ? truth : item.tick;
      if (tick !== null) svg.append(told(line(at(tick), h - 7, at(tick), h + 7, { class: "ink", "stroke-width": 2 }), film.truth + " " + digits(truth)));
      if (strip) {
        const x = width - 72, size = 70;
        svg.append(line(x, h, x + size, h, { class: "rule" }), told(line(x + size * truth, h - 6, x + size * truth, h + 6, { class: "ink", "stroke-width": 2 }), film.truth + " " + digits(truth)));
      }
    });
  }

  function plays() {
    const columns = film.items.map((item, k) => k).filter((k) => film.items[k].side !== "row"), rows = film.items.map((item, k) => k).filter((k) => film.items[k].side !== "column");
    const width = Math.max(260, byId("plays").clientWidth), left = 24, size = Math.min(34, (width - left - 4) / columns.length, 420 / rows.length + 4);
    const top = 18, [svg] = canvas("plays", top + size * rows.length + 4, film.titles.plays), named = size >= 13;
    const x = (k) => left + size * columns.indexOf(k), y = (k) => top + size * rows.indexOf(k);
    const shares = new Map(), frame = frames[now];
    for (let k = 0; k < frame.played.length; k += 2) shares.set(frame.played[k], frame.played[k + 1] / 1000);
    if (named) {
      rows.forEach((k) => svg.append(text(left - 6, y(k) + size / 2, film.items[k].number, { "text-anchor": "end" })));
      columns.forEach((k) => svg.append(text(x(k) + size / 2, 8, film.items[k].number, { "text-anchor": "middle" })));
    }
    const guessed = new Set(frame.guess), frames_ = [];
    film.pairs.forEach(([a, b], pair) => {
      const share = shares.get(pair) || 0, words = pairName(pair) + ": " + (share ? "in " + percent(share) + " of the rounds since the last frame" : "not played since the last frame") + "; true mean " + digits(film.means[pair]);
      for (const [i, j] of film.items[a].side === "player" ? [[a, b], [b, a]] : [[a, b]]) {
        const box = { x: x(j), y: y(i), width: size, height: size };
        svg.append(node("rect", Object.assign({ class: "cell empty" }, box)));
        svg.append(told(node("rect", Object.assign({ class: "cell heat", "fill-opacity": Math.sqrt(share).toFixed(3) }, box)), words));
        if (guessed.has(pair)) frames_.push(node("rect", Object.assign({ class: "guess" }, { x: box.x + 1, y: box.y + 1, width: size - 2, height: size - 2 })));
        if (film.best.includes(pair)) frames_.push(told(node("circle", { cx: box.x + size - size / 5, cy: box.y + size / 5, r: Math.min(3, size / 7), class: "dot" }), "truly best"));
      }
    });
    svg.append(...frames_);
  }

  function regret() {
    const top = 10, bottom = 130, [svg, width] = canvas("regret", bottom + 22, "Regret so far"), right = width - 8;
    const high = Math.max(frames[last].regret, ...frames.map((f) => f.regret), 1e-9) * 1.05, left = 16 + 7 * digits(high).length;
    const y = (v) => bottom - (bottom - top) * Math.max(0, v) / high;
    valueTicks(svg, y, 0, high, left, right, true);
    const at = timeAxis(svg, left, right, top, bottom, false);
    svg.append(path(frames.slice(0, now + 1).map((f) => [at(f.round), y(f.regret)]), { class: "ink", "stroke-width": 2 }));
    svg.append(node("circle", { cx: at(frames[now].round), cy: y(frames[now].regret), r: 4, class: "dot" }));
  }

  function draw() { stories[film.story](); links(); estimates(); plays(); regret(); }

  function show(k) {
    now = Math.max(0, Math.min(last, k));
    const frame = frames[now], words = byId("sentence");
    words.setAttribute("aria-live", timer && !frame.event ? "off" : "polite");
    words.textContent = unbroken(frame.sentence);
    words.classList.toggle("event", frame.event || frame.done);
    byId("round").textContent = grouped(frame.round);
    byId("lost").textContent = unbroken(frame.lost);
    byId("window").textContent = frame.window === null ? "" : "window " + frame.window;
    const slider = byId("time");
    slider.value = now;
    slider.setAttribute("aria-valuetext", "frame " + (now + 1) + " of " + frames.length + ", round " + grouped(frame.round));
    let current = null;
    for (const button of byId("events").querySelectorAll("button")) {
      button.removeAttribute("aria-current");
      if (Number(button.dataset.frame) <= now) current = button;
    }
    if (current) current.setAttribute("aria-current", "step");
    draw();
  }

  function pause() {
    clearTimeout(timer);
    timer = null;
    byId("play").textContent = "Play";
  }
  function tick() {
    const speed = Number(byId("speed").value);
    timer = setTimeout(() => {
      show(now + 1);
      if (now >= last) pause(); else tick();
    }, (frames[now].event ? 1800 : 180) / speed);
  }
  function play() {
    if (timer) return pause();
    if (now >= last) show(0);
    byId("play").textContent = "Pause";
    tick();
  }
  const go = (k) => { pause(); show(k); };

  const list = byId("events");
  frames.forEach((frame, k) => {
    if (!frame.event && !frame.done) return;
    const button = document.createElement("button"), entry = document.createElement("li");
    button.type = "button";
    button.dataset.frame = k;
    button.textContent = unbroken(frame.sentence);
    button.addEventListener("click", () => go(k));
    entry.append(button);
    list.append(entry);
  });
  byId("happened").hidden = !list.children.length;
  byId("time").max = last;
  byId("time").addEventListener("input", (event) => go(Number(event.target.value)));
  byId("play").addEventListener("click", play);
  byId("first").addEventListener("click", () => go(0));
  byId("back").addEventListener("click", () => go(now - 1));
  byId("on").addEventListener("click", () => go(now + 1));
  byId("last").addEventListener("click", () => go(last));
  document.addEventListener("keydown", (event) => {
    const name = event.target.tagName;
    if (event.ctrlKey || event.metaKey || event.altKey || name === "INPUT" || name === "SELECT") return;
    if (event.key === "ArrowLeft" || event.key === "ArrowRight") go(now + (event.key === "ArrowRight" ? 1 : -1));
    else if (event.key === " " && name !== "BUTTON") play();
    else return;
    event.preventDefault();
  });
  let width = 0;
  new ResizeObserver(() => {
    const wide = byId("story").clientWidth;
    if (wide !== width) { width = wide; draw(); }
  }).observe(byId("story"));
  show(last);
})();
