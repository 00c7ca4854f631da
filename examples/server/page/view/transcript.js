// SPDX-License-Identifier: Apache-2.0
//
// The messages of the conversation that is shown: one view for each message, kept while its message lives, so that a
// growing answer changes nothing but its own last block.
import {copy, element, growing, iconButton} from './elements.js';
import {MarkdownView} from './markdown.js';
import {tokenPieces, tokenSlider} from './tokens.js';

const kReasoningOpen = 'skald.reasoning-open';
const kNames = {user: 'You', assistant: 'Answer', system: 'System prompt', developer: 'System prompt', tool: 'Tool'};
const kEnds = {length: 'cut at the limit', stopped: 'stopped'};

const number = value => value.toLocaleString('en');

/** What is told below an answer: its speed, its tokens, how much of the prompt was known. */
function figuresOf(message) {
  const figures = [];
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

/** `actions` are the page's: edit(index, text), again(index), go(id, index), alternatives(index). */
class MessageView {
  constructor(message, index, actions) {
    this.message = message;
    this.index = index;
    this.actions = actions;
    this.tools = element('div', {class: 'tools'});
    this.branches = element('div', {class: 'branches', role: 'group'});
    this.node = element('li', {class: `message ${message.role}`},
                        element('h2', {class: 'visually-hidden'}, kNames[message.role] ?? message.role));
  }

  markdown(container, part) {
    return new MarkdownView(container, (start, end) => tokenPieces(this.message[part], this.message.spans[part], start, end));
  }

  updateBranches(busy) {
    const {index, ids} = this.actions.alternatives(this.index);
    this.branches.hidden = ids.length < 2;
    if (ids.length < 2) return;
    const button = (name, label, step) => {
      const made = iconButton(name, label, () => this.actions.go(ids[index + step], this.index, step));
      made.disabled = busy || !ids[index + step];
      return made;
    };
    this.branches.setAttribute('aria-label', `Branch ${index + 1} of ${ids.length}`);
    this.branches.replaceChildren(button('left', 'Earlier branch', -1), element('span', {}, `${index + 1} / ${ids.length}`),
                                  button('right', 'Later branch', 1));
  }

  update({busy}) {
    this.updateBranches(busy);
    for (const button of this.tools.querySelectorAll('.needs-rest')) button.disabled = busy;
  }
}

class UserView extends MessageView {
  constructor(...given) {
    super(...given);
    const {content} = this.message;
    this.text = element('div', {class: 'text'}, content);
    this.editButton = iconButton('edit', 'Edit in a new branch', () => this.edit(), {class: 'icon needs-rest'});
    const copyButton = iconButton('copy', 'Copy', () => copy(content, copyButton));
    this.tools.append(this.editButton, copyButton, this.branches);
    this.node.append(this.text, this.tools);
  }

  edit() {
    const area = element('textarea', {'aria-label': 'Edit the message', rows: 1});
    area.value = this.message.content;
    const close = () => {
      form.replaceWith(this.text);
      this.tools.hidden = false;
      this.node.classList.remove('editing');
      this.editButton.focus();
    };
    const send = () => {
      const text = area.value.trim();
      if (text === '' || this.editButton.disabled) return;
      close();
      this.actions.edit(this.index, text);
    };
    const form = element('form', {class: 'edit', onsubmit: event => { event.preventDefault(); send(); }}, area,
                         element('div', {class: 'row end'}, element('button', {type: 'button', onclick: close}, 'Cancel'),
                                 element('button', {type: 'submit', class: 'primary'}, 'Send as a new branch')));
    form.addEventListener('keydown', event => {
      if (event.key !== 'Escape') return;
      event.stopPropagation();
      close();
    });
    this.text.replaceWith(form);
    this.tools.hidden = true;
    this.node.classList.add('editing');
    const fit = growing(area, send);
    fit();
    area.focus();
  }
}

class AnswerView extends MessageView {
  constructor(...given) {
    super(...given);
    const {message} = this;
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
    this.tools.append(this.branches, copyButton,
                      iconButton('again', 'Another answer, in a new branch', () => this.actions.again(this.index),
                                 {class: 'icon needs-rest'}),
                      this.tokensButton, this.figures);
    this.node.append(this.thinking, this.waiting, this.text, this.tools);
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

  update({busy, live}) {
    super.update({busy});
    const {message} = this;
    this.waiting.hidden = !live || message.content !== '' || message.reasoning !== '';
    this.tools.hidden = live;
    // Nothing ever came of it; below the messages stands why.
    this.node.hidden = !live && message.begun !== null && message.end === null && message.tokens === 0;
    this.thinking.hidden = message.reasoning === '';
    const seconds = message.thought && (message.thought - message.begun - 1000 * message.wait) / 1000;
    this.summary.textContent = live && message.content === '' ? 'Thinking\u2026' :
                               seconds ? `Thought for ${seconds.toFixed(1)} s` : 'Thoughts';
    this.reasoning.update(message.reasoning);
    this.content.update(message.content);
    this.tokensButton.hidden = message.spans.content.length === 0;
    if (!live) this.figures.replaceChildren(...figuresOf(message).map(text => element('li', {}, text)));
  }
}

// System prompts, and what tools gave to other clients of the server.
class OtherView extends MessageView {
  constructor(...given) {
    super(...given);
    const {role, content} = this.message;
    this.node.replaceChildren(element('details', {}, element('summary', {}, kNames[role] ?? role),
                                      element('div', {class: 'text'}, content)));
  }
}

const kViews = {user: UserView, assistant: AnswerView};

export class Transcript {
  /** `scroller` scrolls `list`; `toEnd` is the button that leads to its end. */
  constructor({scroller, list, toEnd, actions}) {
    Object.assign(this, {scroller, list, toEnd, actions, views: new Map(), conversation: null, follows: true});
    scroller.addEventListener('scroll', () => {
      this.follows = scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < 40;
      toEnd.hidden = this.follows;
    }, {passive: true});
    toEnd.addEventListener('click', () => this.scrollToEnd());
    // Whatever makes the text longer or the window smaller: who was at the end stays there.
    const observer = new ResizeObserver(() => { if (this.follows) this.scrollToEnd(); });
    observer.observe(list);
    observer.observe(scroller);
  }

  scrollToEnd() {
    this.scroller.scrollTop = this.scroller.scrollHeight;
  }

  show(conversation) {
    this.conversation = conversation;
    this.follows = true;
    this.views.clear();
    this.list.replaceChildren();
    this.update();
    this.scrollToEnd();
  }

  /** After messages came, went or changed. */
  update() {
    const messages = this.conversation?.messages ?? [];
    for (const [message, view] of this.views) {
      if (messages[view.index] === message) continue;
      view.node.remove();
      this.views.delete(message);
    }
    messages.forEach((message, index) => {
      if (this.views.has(message)) return;
      const view = new (kViews[message.role] ?? OtherView)(message, index, this.actions);
      this.views.set(message, view);
      this.list.insertBefore(view.node, this.list.children[index] ?? null);
    });
    const busy = this.conversation?.answering ?? false;
    for (const [message, view] of this.views) view.update({busy, live: busy && message === messages.at(-1)});
  }

  /** After the last message grew. */
  grow() {
    const last = this.conversation.messages.at(-1);
    this.views.get(last)?.update({busy: true, live: true});
  }

  /** Puts the focus on the branch switch of a message, and the message where it was on the screen. */
  focusBranch(index, step, top) {
    const node = this.list.children[index];
    if (!node) return;
    this.follows = false;
    this.scroller.scrollTop += node.getBoundingClientRect().top - top;
    const buttons = node.querySelectorAll('.branches button');
    [buttons[step < 0 ? 0 : 1], buttons[step < 0 ? 1 : 0]].find(button => button && !button.disabled)?.focus();
  }

  topOf(index) {
    return this.list.children[index]?.getBoundingClientRect().top ?? 0;
  }
}
