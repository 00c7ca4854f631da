// SPDX-License-Identifier: Apache-2.0
//
// Markdown as DOM nodes. Markup of HTML in it is text, but for line breaks; what the libraries make of the rest is
// cleaned before it comes into the page. https://spec.commonmark.org/ https://github.github.com/gfm/
import {copy, element, iconButton} from '../elements.js';
import {libraries} from './libraries.js';
import {math} from './math.js';
import {placeTexts} from './placing.js';

// Texts that are longer or nested deeper are shown as they are written.
const kMostMarkdown = 500000;
const kDeepest = 24;
const kMostHighlighted = 50000;

const kLink = /^(?:https?:\/\/|mailto:)/i;
const kImage = /^data:image\/(?:png|gif|jpeg|webp);base64,/i;

const kPurify = {
  USE_PROFILES: {html: true, svg: true, mathMl: true},
  FORBID_TAGS: ['style', 'form', 'input', 'button', 'textarea', 'select', 'audio', 'video', 'dialog'],
  FORBID_ATTR: ['style', 'id', 'name'],
  // Of all attributes: no scheme but those of links.
  ALLOWED_URI_REGEXP: /^(?:(?:https?|mailto):|[^a-z]|[a-z+.-]+(?:[^a-z+.:-]|$))/i,
  RETURN_DOM_FRAGMENT: true,
};

function highlighted(code, language) {
  const {highlight} = libraries;
  if (code.length > kMostHighlighted || !highlight.getLanguage(language)) return '';
  return highlight.highlight(code, {language, ignoreIllegals: true}).value;
}

// Cells of tables have no other way to break a line.
function lineBreak(state, silent) {
  const [tag] = /^<br *\/?>/i.exec(state.src.slice(state.pos, state.pos + 8)) ?? [];
  if (!tag) return false;
  if (!silent) state.push('hardbreak', 'br', 0);
  state.pos += tag.length;
  return true;
}

function makeMarkdown() {
  const markdown = new libraries.MarkdownIt({html: false, linkify: true, breaks: true, highlight: highlighted,
                                               maxNesting: kDeepest});
  markdown.validateLink = url => kLink.test(url) || kImage.test(url);
  markdown.inline.ruler.before('html_inline', 'line_break', lineBreak);
  math(markdown);
  const {rules} = markdown.renderer;
  // All of one rank below the page's own: models leave ranks out, which confuses who goes from heading to heading.
  rules.heading_open = (tokens, index) => `<h3 class="level-${tokens[index].tag.slice(1)}">`;
  rules.heading_close = () => '</h3>';
  // The page's policy knows no attributes of style.
  rules.th_open = rules.td_open = (tokens, index) => {
    const {tag} = tokens[index];
    const side = tokens[index].attrGet('style')?.replace('text-align:', '');
    return side ? `<${tag} class="to-${side}">` : `<${tag}>`;
  };
  // Pictures of other places are not loaded, but can be visited.
  const image = rules.image;
  rules.image = (tokens, index, options, env, self) => {
    const source = tokens[index].attrGet('src');
    if (kImage.test(source)) return image(tokens, index, options, env, self);
    const {escapeHtml} = markdown.utils;
    return `<a href="${escapeHtml(source)}">${escapeHtml(tokens[index].content || source)}</a>`;
  };
  return markdown;
}

const markdown = libraries && makeMarkdown();

const isSame = (a, b) => a.start === b.start && a.source === b.source && a.references === b.references;

/**
 * The blocks of a text in order: {start, source, html, references}. What is the same in `before`, the blocks of its
 * beginning, is not rendered again.
 */
function blocksOf(text, before) {
  const plain = text ? [{start: 0, source: text, html: null}] : [];
  if (!markdown || text.length > kMostMarkdown) return plain;
  const lines = [0];
  for (const {index, 0: newline} of text.matchAll(/\r\n|\r|\n/g)) lines.push(index + newline.length);
  const env = {};
  const tokens = markdown.parse(text, env);
  // What is deeper than that is not in there.
  if (tokens.some(({level}) => level > kDeepest - 3)) return plain;
  const references = Object.keys(env.references ?? {}).length;
  const blocks = [];
  for (let i = 0, from = 0; i < tokens.length; ++i) {
    if (tokens[i].level !== 0 || tokens[i].nesting > 0) continue;
    const [first, last] = tokens[from].map ?? [0, lines.length];
    const block = {start: lines[first], source: text.slice(lines[first], lines[last]), references};
    const known = before[blocks.length];
    block.html = known && isSame(known, block) ? known.html :
                                                 markdown.renderer.render(tokens.slice(from, i + 1), markdown.options, env);
    blocks.push(block);
    from = i + 1;
  }
  return blocks;
}

function dressCode(pre) {
  const code = pre.firstElementChild;
  const language = /language-(\S+)/.exec(code.className)?.[1] ?? '';
  code.textContent.endsWith('\n') && trimEnd(code);
  const button = iconButton('copy', 'Copy the code', () => copy(code.textContent, button));
  const figure = element('figure', {class: 'code'});
  pre.replaceWith(figure);
  pre.setAttribute('tabindex', '0');
  pre.setAttribute('role', 'region');
  pre.setAttribute('aria-label', language ? `Code: ${language}` : 'Code');
  figure.append(element('figcaption', {}, element('span', {}, language || 'code'), button), pre);
}

function trimEnd(node) {
  while (node.lastChild?.nodeType === Node.ELEMENT_NODE) node = node.lastChild;
  if (node.lastChild) node.lastChild.data = node.lastChild.data.replace(/\n$/, '');
}

function dressTask(item) {
  const first = item.firstElementChild?.matches('p') ? item.firstElementChild : item;
  const text = first.firstChild;
  const [mark] = (text?.nodeType === Node.TEXT_NODE && /^\[[ xX]\]\s/.exec(text.data)) || [];
  if (!mark) return;
  text.data = text.data.slice(mark.length);
  const isDone = mark[1] !== ' ';
  item.classList.add('task');
  first.prepend(element('input', {type: 'checkbox', disabled: true, checked: isDone, 'aria-label': isDone ? 'Done' : 'To do'}));
}

/** Puts in what markup has no words for: buttons, targets, labels, styles. */
function dress(root) {
  const all = selector => root.querySelectorAll(selector);
  all('[data-style]').forEach(node => {
    node.style.cssText = node.dataset.style;
    delete node.dataset.style;
  });
  all('a').forEach(link => {
    link.target = '_blank';
    link.rel = 'noopener noreferrer';
  });
  all('table').forEach(table => {
    const frame = element('div', {class: 'table', tabindex: 0, role: 'region', 'aria-label': 'Table'});
    table.replaceWith(frame);
    frame.append(table);
  });
  all('li').forEach(dressTask);
  all('pre').forEach(dressCode);
}

const isOwn = node => node.matches('.math, figcaption');

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
    if (text === this.text) return;
    this.text = text;
    const blocks = blocksOf(text, this.shown);
    const isKept = (a, b) => a?.start === b.start && a.html === b.html && (b.html !== null || a.source === b.source);
    let kept = 0;
    while (kept < blocks.length && isKept(this.shown[kept], blocks[kept])) ++kept;
    while (this.container.childElementCount > kept) this.container.lastElementChild.remove();
    this.container.append(...blocks.slice(kept).map(block => this.nodeOf(text, block)));
    this.shown = blocks;
  }

  // One element for each block.
  nodeOf(text, {start, source, html}) {
    const end = start + source.length;
    if (html === null) return element('p', {class: 'plain'}, ...this.pieces(start, end));
    const fragment = libraries.purify.sanitize(html, kPurify);
    dress(fragment);
    placeTexts(fragment, text, start, end, this.pieces, isOwn);
    return fragment.childElementCount === 1 ? fragment.firstElementChild : element('div', {}, fragment);
  }
}
