// SPDX-License-Identifier: Apache-2.0
//
// An answer: its thoughts, its text, the tools that it calls, and what is known of how it came about.
import {copy, element, iconButton} from '../elements.js';
import {MarkdownView} from '../text/markdown.js';
import {tokenPieces, tokenSlider} from '../tokens.js';
import {toolDetails} from './json_view.js';
import {MessageView} from './message_view.js';

const kReasoningOpen = 'skald.reasoning-open';
const kEnds = {length: 'cut at the limit', stopped: 'stopped'};

const number = value => value.toLocaleString('en');

/** What is told below an answer: who wrote it if it may be several, its speed, its tokens, how much of the prompt was known. */
function figuresOf(message, hasSeveralModels) {
  const figures = message.model && hasSeveralModels ? [message.model] : [];
  if (message.speed !== null) figures.push(`${message.speed.toFixed(1)} tokens/s`);
  const tokens = message.usage?.completion_tokens ?? message.tokens;
  if (tokens) figures.push(`${number(tokens)} token${tokens === 1 ? '' : 's'}`);
  if (message.wait !== null) figures.push(`first after ${message.wait.toFixed(2)} s`);
  if (message.usage) {
    const cached = message.usage.prompt_tokens_details?.cached_tokens ?? 0;
    figures.push(`${number(cached)} of ${number(message.usage.prompt_tokens)} prompt tokens cached`);
  }
  if (kEnds[message.end]) figures.push(kEnds[message.end]);
  return figures;
}

export class AnswerView extends MessageView {
  constructor(...given) {
    super(...given);
    const {message} = this;
    this.calls = element('div', {class: 'calls'});
    this.text = element('div', {class: 'text markdown'});
    this.content = this.markdown(this.text, 'content');
    this.summary = element('summary');
    const reasoning = element('div', {class: 'markdown'});
    this.reasoning = this.markdown(reasoning, 'reasoning');
    this.thinking = element('details', {class: 'reasoning', open: localStorage.getItem(kReasoningOpen) === 'yes'},
                            this.summary, reasoning);
    this.summary.addEventListener('click', () => {
      localStorage.setItem(kReasoningOpen, this.thinking.open ? 'no' : 'yes');
    });
    this.waiting = element('p', {class: 'waiting'}, element('span', {class: 'pulse'}), 'Reading the prompt\u2026');
    this.figures = element('ul', {class: 'figures', 'aria-label': 'About this answer'});
    const copyButton = iconButton('copy', 'Copy', () => copy(message.content, copyButton));
    this.tokensButton = iconButton('tokens', 'Tokens and their probabilities', () => this.toggleSlider(),
                                   {'aria-expanded': 'false'});
    this.goOnButton = element('button', {type: 'button', class: 'quiet needs-rest', onclick: () => this.actions.goOn()}, 'Continue');
    const edit = this.editButton({label: 'Edit the answer', field: 'Edit the answer', action: 'Keep as a new branch',
                                  shown: this.text, text: () => message.content,
                                  send: text => this.actions.change(this.index, text)});
    this.tools.append(this.branches, this.goOnButton, copyButton, edit,
                      iconButton('again', 'Another answer, in a new branch', () => this.actions.again(this.index),
                                 {class: 'icon needs-rest'}),
                      this.tokensButton, this.figures);
    this.node.append(this.thinking, this.waiting, this.text, this.calls, this.tools);
  }

  markdown(container, part) {
    return new MarkdownView(container, (start, end) => tokenPieces(this.message[part], this.message.spans[part], start, end));
  }

  updateCalls() {
    const {calls} = this.message;
    // Those before the last one are complete.
    while (this.calls.childElementCount > Math.max(0, calls.length - 1)) this.calls.lastElementChild.remove();
    this.calls.append(...calls.slice(this.calls.childElementCount).map(call => toolDetails('Calls', call.name, call.arguments)));
  }

  toggleSlider() {
    const open = !this.slider;
    this.tokensButton.setAttribute('aria-expanded', String(open));
    this.node.classList.toggle('marks', open);
    this.slider?.row.remove();
    this.slider = open ? tokenSlider(this.text) : null;
    if (!open) return;
    this.tools.after(this.slider.row);
    this.slider.start();
  }

  update({busy, live, last}) {
    super.update({busy});
    const {message} = this;
    const isEmpty = message.content === '' && message.reasoning === '' && message.calls.length === 0;
    this.waiting.hidden = !live || !isEmpty;
    this.tools.hidden = live;
    this.goOnButton.hidden = !last || !message.isCut;
    // Nothing ever came of it; below the messages stands why.
    this.node.hidden = !live && message.begun !== null && message.end === null && isEmpty;
    this.thinking.hidden = message.reasoning === '';
    const seconds = message.thought && (message.thought - message.begun - 1000 * message.wait) / 1000;
    this.summary.textContent = live && message.content === '' ? 'Thinking\u2026' :
                               seconds ? `Thought for ${seconds.toFixed(1)} s` : 'Thoughts';
    this.reasoning.update(message.reasoning);
    this.content.update(message.content);
    this.updateCalls();
    this.tokensButton.hidden = message.spans.content.length === 0;
    if (!live) this.figures.replaceChildren(...figuresOf(message, this.actions.hasSeveralModels()).map(text => element('li', {}, text)));
  }
}
