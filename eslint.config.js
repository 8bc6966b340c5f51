import { readFileSync, readdirSync } from "node:fs";

import js from "@eslint/js";
import globals from "globals";

/* The scripts of a page are joined into one scope: what one defines at its top level, those after it may use. */
const FIGURES = "src/matchbandit/figures";
const joined = ["", "script"].flatMap((folder) =>
  readdirSync(`${FIGURES}/${folder}`)
    .filter((name) => name.endsWith(".js"))
    .map((name) => readFileSync(`${FIGURES}/${folder}/${name}`, "utf-8"))
    .flatMap((source) => [...source.matchAll(/^(function|class|const|let) (\w+)/gm)])
    .map(([, kind, name]) => [name, kind === "let" ? "writable" : "readonly"]),
);

export default [
  { ignores: ["**/vendor/**"] },
  js.configs.recommended,
  {
    files: ["src/**/*.js"],
    languageOptions: {
      sourceType: "script",
      globals: { ...globals.browser, echarts: "readonly", ...Object.fromEntries(joined) },
    },
    rules: {
      eqeqeq: "error",
      "no-implicit-globals": "off",
      "no-redeclare": ["error", { builtinGlobals: false }],
      "no-unused-vars": ["error", { vars: "local", argsIgnorePattern: "^_" }],
      "no-var": "error",
    },
  },
];
