// SPDX-License-Identifier: Apache-2.0
//
// Tokens in the text of an answer, and what the model thought of them: on hover, and one by one with a slider.
import {element, find} from './elements.js';

const spanOf = new WeakMap();

const kRare = [0.5, 0.2, 0.05];
const probabilityOf = steps => Math.exp(steps.reduce((sum, step) => sum + step.logprob, 0));

function percent(probability) {
  if (probability < 0.001) return '<\u20090.1\u2009%';
  return `${(100 * probability).toFixed(probability < 0.9995 ? 1 : 0)}\u2009%`;
}

/** Makes blanks visible; bytes that are no character are shown as such. */
function visible({token, bytes}) {
  if (token.includes('\ufffd') && bytes) return bytes.map(byte => `<${byte.toString(16).padStart(2, '0')}>`).join('');
  return token.replaceAll(' ', '\u2423').replaceAll('\n', '\u23ce').replaceAll('\t', '\u21e5') || '(end)';
}

/** The nodes of text[start, end), an element for each token of `spans` that it touches. */
export function tokenPieces(text, spans, start, end) {
  if (start >= end) return [];
  let low = 0;
  for (let high = spans.length; low < high;) {
    const middle = (low + high) >> 1;
    if (spans[middle].end <= start) low = middle + 1;
    else high = middle;
  }
  const nodes = [];
  let at = start;
  for (; low < spans.length && spans[low].start < end; ++low) {
    const to = Math.min(end, spans[low].end);
    const rarity = kRare.filter(limit => probabilityOf(spans[low].steps) < limit).length;
    const node = element('span', {class: rarity ? `token rare-${rarity}` : 'token'}, text.slice(at, to));
    spanOf.set(node, spans[low]);
    nodes.push(node);
    at = to;
  }
  if (at < end) nodes.push(text.slice(at, end));
  return nodes;
}

// What might have come in place of a token, likeliest first, and the token itself.
function choicesOf(step) {
  const choices = step.top_logprobs ?? [];
  const has = choices.some(choice => choice.token === step.token && choice.logprob === step.logprob);
  return (has ? choices : [...choices, step]).toSorted((a, b) => b.logprob - a.logprob);
}

function choiceRow(choice, step) {
  const bar = element('span', {class: 'bar'});
  bar.style.width = `${100 * Math.exp(choice.logprob)}%`;
  return element('li', {class: choice.token === step.token ? 'chosen' : null},
                 element('span', {class: 'piece'}, visible(choice)),
                 element('span', {class: 'track'}, bar), element('span', {}, percent(Math.exp(choice.logprob))));
}

const tip = () => find('#tip');
let marked = null;

function show(node) {
  hide();
  const {steps} = spanOf.get(node);
  const text = element('div', {class: 'chance'}, element('strong', {}, steps.map(visible).join('')),
                       element('span', {}, percent(probabilityOf(steps))));
  const below = steps.length === 1 ? element('ol', {}, ...choicesOf(steps[0]).map(choice => choiceRow(choice, steps[0]))) :
                                     element('p', {}, `${steps.length} tokens together`);
  tip().replaceChildren(text, below);
  tip().hidden = false;
  node.classList.add('current');
  marked = node;
  place();
}

function place() {
  const [at] = marked.getClientRects();
  const {width, height} = tip().getBoundingClientRect();
  const above = at.top - height - 8;
  tip().style.left = `${Math.max(8, Math.min(innerWidth - width - 8, at.left + at.width / 2 - width / 2))}px`;
  tip().style.top = `${above > 8 ? above : at.bottom + 8}px`;
}

function hide() {
  tip().hidden = true;
  marked?.classList.remove('current');
  marked = null;
}

/** Shows the tip for tokens under the pointer, in all of `area`. */
export function watchTokens(area) {
  const tokenAt = event => event.target.closest?.('.token');
  area.addEventListener('pointerover', event => {
    const node = tokenAt(event);
    if (node) show(node);
    else hide();
  });
  area.addEventListener('pointerleave', event => { if (event.pointerType !== 'touch') hide(); });
  area.addEventListener('scroll', () => {
    if (marked?.isConnected && document.activeElement.matches('.slider input')) place();
    else hide();
  }, {passive: true});
  document.addEventListener('keydown', event => { if (event.key === 'Escape') hide(); });
}

/** A slider that goes through the tokens of `text`: what hovering is to the mouse, for keyboards and screen readers. */
export function tokenSlider(text) {
  const nodes = () => [...text.querySelectorAll('.token')];
  const slider = element('input', {type: 'range', min: 1, value: 1, 'aria-label': 'Token'});
  const count = element('output');
  const update = () => {
    const all = nodes();
    slider.max = all.length;
    const node = all[slider.value - 1];
    if (!node) return;
    node.scrollIntoView({block: 'nearest'});
    show(node);
    const {steps} = spanOf.get(node);
    const others = steps.length > 1 ? [] : choicesOf(steps[0]).filter(choice => choice.token !== steps[0].token);
    const instead = others.slice(0, 3).map(choice => `${visible(choice)} ${percent(Math.exp(choice.logprob))}`);
    count.value = `${slider.value} of ${all.length}`;
    slider.setAttribute('aria-valuetext', `${node.textContent}, ${percent(probabilityOf(steps))}` +
                                              (instead.length ? `; instead ${instead.join(', ')}` : ''));
  };
  slider.addEventListener('input', update);
  slider.addEventListener('focus', update);
  slider.addEventListener('blur', hide);
  return {row: element('div', {class: 'slider'}, slider, count), start: () => slider.focus()};
}
