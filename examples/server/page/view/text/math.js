// SPDX-License-Identifier: Apache-2.0
//
// Formulas in Markdown: $x$, \(x\) within a line, $$x$$ and \[x\] on their own. https://katex.org/docs/options
import {libraries} from './libraries.js';

const kInline = [['$$', '$$', true], ['\\[', '\\]', true], ['\\(', '\\)', false], ['$', '$', false]];
const kBlock = [['$$', '$$'], ['\\[', '\\]']];
const kOptions = {strict: 'ignore', trust: false, maxExpand: 1000, maxSize: 10, output: 'htmlAndMathml'};

/**
 * The markup of a formula; of one that is none, its text. Its styles are attributes data-style: the page's policy
 * knows no others.
 */
function render(formula, source, isDisplay, escape) {
  try {
    return libraries.katex.renderToString(formula, {...kOptions, displayMode: isDisplay})
        .replace(/<annotation [^>]*>.*?<\/annotation>/gs, '').replace(/<\/?semantics>/g, '')
        .replaceAll(' style="', ' data-style="');
  } catch {
    return `<code>${escape(source)}</code>`;
  }
}

// As Pandoc has it: prices are no formulas.
function isFormula(text, open, after) {
  return text.trim() !== '' && (open !== '$' || (/^\S(.*\S)?$/s.test(text) && !/\d/.test(after) && !/\n/.test(text)));
}

function inline(state, silent) {
  const {src, pos, posMax} = state;
  for (const [open, close, isDisplay] of kInline) {
    if (!src.startsWith(open, pos)) continue;
    let end = pos + open.length;
    do end = src.indexOf(close, end + 1);
    while (end > 0 && close[0] === '$' && src[end - 1] === '\\');
    if (end < 0 || end + close.length > posMax) continue;
    const formula = src.slice(pos + open.length, end);
    if (!isFormula(formula, open, src[end + close.length] ?? '')) continue;
    if (!silent) {
      Object.assign(state.push('math', 'math', 0), {content: formula, markup: open, meta: {close, isDisplay}});
    }
    state.pos = end + close.length;
    return true;
  }
  return false;
}

function block(state, startLine, endLine, silent) {
  const lineOf = line => state.src.slice(state.bMarks[line] + state.tShift[line], state.eMarks[line]);
  const first = lineOf(startLine);
  const marks = kBlock.find(([open]) => first.startsWith(open));
  if (!marks) return false;
  const [open, close] = marks;
  const lines = [first.slice(open.length)];
  let line = startLine;
  for (; !lines.at(-1).trimEnd().endsWith(close); lines.push(lineOf(line))) {
    if (++line >= endLine || state.sCount[line] < state.blkIndent) return false;
  }
  if (silent) return true;
  const content = lines.join('\n').trimEnd().slice(0, -close.length);
  state.line = line + 1;
  Object.assign(state.push('math', 'math', 0), {content, markup: open, map: [startLine, line + 1], block: true,
                                                meta: {close, isDisplay: true}});
  return true;
}

/** A plugin of markdown-it. */
export function math(markdown) {
  markdown.inline.ruler.before('escape', 'math', inline);
  markdown.block.ruler.before('fence', 'math', block, {alt: ['paragraph', 'reference', 'blockquote', 'list']});
  markdown.renderer.rules.math = (tokens, index) => {
    const {content, markup, meta} = tokens[index];
    const source = markup + content + meta.close;
    const tag = tokens[index].block ? 'p' : 'span';
    return `<${tag} class="math">${render(content.trim(), source, meta.isDisplay, markdown.utils.escapeHtml)}</${tag}>`;
  };
}
