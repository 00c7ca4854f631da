// SPDX-License-Identifier: Apache-2.0
//
// The libraries that texts are shown with. A program that was built without a network has none of them.

async function load() {
  const [markdown, purify, highlight] = await Promise.all(
      ['markdown-it', 'purify', 'highlight', 'katex'].map(name => import(`../../libraries/${name}.js`)));
  // KaTeX is no module: it leaves its name behind.
  return {MarkdownIt: markdown.default, purify: purify.default, highlight: highlight.default, katex: globalThis.katex};
}

/** {MarkdownIt, purify, highlight, katex}, or null. */
export const libraries = await load().catch(() => null);
