// Bundle what pages need of Vega and Vega-Lite into figures/vendor, with the licences: `npm run vendor`.
import { readFileSync, writeFileSync } from "node:fs";

import { build } from "esbuild";

const FOLDER = "src/matchbandit/figures/vendor";
// The package `vega` also registers maps, trees, forces and word clouds, which no page draws.
const ENTRY = `
import { extend } from "vega-util";
import { transforms } from "vega-dataflow";
import * as data from "vega-transforms";
import * as view from "vega-view-transforms";
import * as encode from "vega-encode";
import * as voronoi from "vega-voronoi";
extend(transforms, data, view, encode, voronoi);
export { parse } from "vega-parser";
export { View } from "vega-view";
export { expressionInterpreter } from "vega-interpreter";
export { compile } from "vega-lite";`;

const { metafile, outputFiles } = await build({
  stdin: { contents: ENTRY, resolveDir: "." },
  alias: { vega: "vega-util" }, // Vega-Lite takes only its helpers
  bundle: true,
  minify: true,
  charset: "utf8",
  format: "iife",
  globalName: "vega",
  legalComments: "none",
  metafile: true,
  write: false,
});
const [{ inputs }] = Object.values(metafile.outputs);
const used = Object.keys(inputs).filter((path) => path.startsWith("node_modules/") && inputs[path].bytesInOutput);
const packages = [...new Set(used.map((path) => path.split("/")[1]))].sort();
const texts = new Map(); // the text of each licence, and the packages that have it
for (const name of packages) {
  const { version } = JSON.parse(readFileSync(`node_modules/${name}/package.json`, "utf-8"));
  const text = readFileSync(`node_modules/${name}/LICENSE`, "utf-8").trim();
  texts.set(text, [...(texts.get(text) ?? []), `${name} ${version}`]);
}
const licences = [...texts].map(([text, names]) => `${names.join(", ")}\n\n${text}\n`).join("\n---\n\n");
const script = outputFiles[0].text.replaceAll("</script", "<\\/script").replaceAll("<!--", "\\x3c!--");
if (licences.includes("*/")) throw new Error("a licence would end the comment that it is in");
writeFileSync(`${FOLDER}/LICENSE`, licences);
writeFileSync(`${FOLDER}/vega.js`, `/*\n${licences}*/\n${script}`);
