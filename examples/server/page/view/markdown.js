// SPDX-License-Identifier: Apache-2.0
//
// A small part of Markdown as DOM nodes: paragraphs, headings, lists, code, bold, italic. Everything else is shown as it
// is written. Nothing is ever parsed as HTML. https://spec.commonmark.org/
import {copy, element, iconButton} from './elements.js';

const kFence = /^( *)(`{3,}|~{3,})\s*([^`]*)$/;
const kHeading = /^(#{1,6})\s+/;
const kItem = /^(\s*)([-*+]|(\d{1,9})[.)])\s+/;
const kRule = /^\s*([-*_])(?:\s*\1){2,}\s*$/;
const kInline = /(`+)([^`]|[^`][\s\S]*?[^`])\1(?!`)|\*\*(?=\S)([\s\S]*?\S)\*\*|(?<![\w*])\*(?=[^\s*])([^*]*?[^\s*])\*(?![\w*])/g;

function linesOf(text) {
  const lines = [];
  for (let start = 0; start <= text.length;) {
    const newline = text.indexOf('\n', start);
    const end = newline < 0 ? text.length : newline;
    lines.push({start, end, text: text.slice(start, end)});
    start = end + 1;
  }
  return lines;
}

const isBlank = line => line.text.trim() === '';
const beginsBlock = line => kFence.test(line.text) || kHeading.test(line.text) || kRule.test(line.text);

/** Lists the blocks of a text: {kind, start, end} as offsets, and what its kind needs. */
function blocksOf(text) {
  const lines = linesOf(text);
  const blocks = [];
  const add = (kind, from, to, facts) => blocks.push({kind, start: lines[from].start, end: lines[to - 1].end, ...facts});
  for (let i = 0; i < lines.length;) {
    const from = i;
    const line = lines[i++];
    const fence = kFence.exec(line.text);
    const heading = kHeading.exec(line.text);
    if (isBlank(line)) continue;
    if (fence) {
      const closes = other => other.text.trim().startsWith(fence[2]) && /^[`~]+$/.test(other.text.trim());
      while (i < lines.length && !closes(lines[i])) ++i;
      const code = lines.slice(from + 1, i);
      i = Math.min(i + 1, lines.length);
      add('code', from, i, {language: fence[3].trim(), indent: fence[1].length, lines: code});
    } else if (heading) {
      add('heading', from, i, {level: heading[1].length, text: line.start + heading[0].length});
    } else if (kRule.test(line.text)) {
      add('rule', from, i);
    } else if (kItem.test(line.text)) {
      i = endOfList(lines, from);
      add('list', from, i, {items: itemsOf(lines.slice(from, i))});
    } else {
      while (i < lines.length && !isBlank(lines[i]) && !beginsBlock(lines[i]) && !kItem.test(lines[i].text)) ++i;
      add('paragraph', from, i);
    }
  }
  return blocks;
}

// A list goes on over a blank line if an item or an indented line follows.
function endOfList(lines, from) {
  let end = from + 1;
  for (let i = end; i < lines.length && !beginsBlock(lines[i]); ++i) {
    const afterBlank = isBlank(lines[i - 1]);
    if (afterBlank && !isBlank(lines[i]) && !/^\s/.test(lines[i].text) && !kItem.test(lines[i].text)) break;
    if (!isBlank(lines[i])) end = i + 1;
  }
  return end;
}

function itemsOf(lines) {
  const items = [];
  for (const line of lines) {
    const item = kItem.exec(line.text);
    if (item) {
      items.push({indent: item[1].length, number: item[3], start: line.start + item[0].length, end: line.end});
    } else if (!isBlank(line)) {
      items.at(-1).end = line.end;
    }
  }
  return items;
}

/**
 * Shows a growing text in an element. `pieces(start, end)` gives the nodes for a part of the text; blocks that have not
 * changed since the last update keep theirs.
 */
export class MarkdownView {
  constructor(container, pieces) {
    this.container = container;
    this.pieces = pieces;
    this.shown = [];
    this.text = '';
  }

  update(text) {
    this.text = text;
    const blocks = blocksOf(text);
    const same = (a, b) => a?.kind === b.kind && a.start === b.start && a.end === b.end;
    let kept = 0;
    while (kept < blocks.length && same(this.shown[kept], blocks[kept])) ++kept;
    while (this.container.childElementCount > kept) this.container.lastElementChild.remove();
    this.container.append(...blocks.slice(kept).map(block => this[block.kind](block)));
    this.shown = blocks;
  }

  paragraph({start, end}) {
    return element('p', {}, ...this.inline(start, end));
  }

  // All of one rank below the page's own: models leave ranks out, which confuses who goes from heading to heading.
  heading({level, text, end}) {
    return element('h3', {class: `level-${level}`}, ...this.inline(text, end));
  }

  rule() {
    return element('hr');
  }

  code({language, indent, lines}) {
    const indentOf = line => Math.min(indent, line.text.length - line.text.trimStart().length);
    const last = lines.length - 1;
    const nodes = lines.flatMap((line, i) => this.pieces(line.start + indentOf(line), line.end + (i < last ? 1 : 0)));
    const content = element('code', {}, ...nodes);
    const button = iconButton('copy', 'Copy the code', () => copy(content.textContent, button));
    return element('figure', {class: 'code'}, element('figcaption', {}, element('span', {}, language || 'code'), button),
                   element('pre', {tabindex: 0, 'aria-label': language ? `Code: ${language}` : 'Code'}, content));
  }

  list({items}) {
    return this.listOf(items);
  }

  listOf(items) {
    const {number} = items[0];
    const list = number === undefined ? element('ul') : element('ol', {start: number === '1' ? null : number});
    for (let i = 0; i < items.length;) {
      let next = i + 1;
      while (next < items.length && items[next].indent > items[i].indent) ++next;
      const item = element('li', {}, ...this.inline(items[i].start, items[i].end));
      if (next > i + 1) item.append(this.listOf(items.slice(i + 1, next)));
      list.append(item);
      i = next;
    }
    return list;
  }

  inline(start, end) {
    const nodes = [];
    let at = start;
    for (const match of this.text.slice(start, end).matchAll(kInline)) {
      const [whole, ticks, code, bold, italic] = match;
      const from = start + match.index;
      const to = from + whole.length;
      nodes.push(...this.pieces(at, from));
      if (code !== undefined) {
        nodes.push(element('code', {}, ...this.pieces(from + ticks.length, to - ticks.length)));
      } else {
        const marks = bold === undefined ? 1 : 2;
        nodes.push(element(italic === undefined ? 'strong' : 'em', {}, ...this.inline(from + marks, to - marks)));
      }
      at = to;
    }
    return [...nodes, ...this.pieces(at, end)];
  }
}
