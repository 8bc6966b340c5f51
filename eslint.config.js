import js from "@eslint/js";
import globals from "globals";

export default [
  { ignores: ["**/vendor/**"] },
  js.configs.recommended,
  {
    files: ["src/**/*.js"],
    languageOptions: {
      sourceType: "script",
      // Scripts of one page share their top level: page.js uses the bundle, and others use what page.js defines.
      globals: {
        ...globals.browser,
        ...Object.fromEntries(["vega", "views", "hosts", "drawChart", "element"].map((name) => [name, "readonly"])),
      },
    },
    rules: {
      eqeqeq: "error",
      "no-redeclare": ["error", { builtinGlobals: false }],
      "no-unused-vars": ["error", { vars: "local", argsIgnorePattern: "^_" }],
      "no-var": "error",
    },
  },
];
