// SPDX-License-Identifier: Apache-2.0
//
// The messages of the conversation that is shown: one view for each message, kept while its message lives, so that a
// growing answer changes nothing but its own last block.
import {AnswerView} from './messages/answer_view.js';
import {OtherView} from './messages/other_view.js';
import {UserView} from './messages/user_view.js';

const kViews = {user: UserView, assistant: AnswerView};

export class Transcript {
  /** `scroller` scrolls `list`; `toEnd` is the button that leads to its end. */
  constructor({scroller, list, toEnd, actions}) {
    Object.assign(this, {scroller, list, toEnd, actions, views: new Map(), conversation: null, follows: true, top: 0});
    scroller.addEventListener('scroll', () => {
      // Who goes up leaves the end; a text that has grown below does not lead away from it.
      if (scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < 40) this.follow(true);
      else if (scroller.scrollTop < this.top) this.follow(false);
      this.top = scroller.scrollTop;
    }, {passive: true});
    toEnd.addEventListener('click', () => this.scrollToEnd());
    // Whatever makes the text longer or the window smaller: who was at the end stays there.
    const observer = new ResizeObserver(() => { if (this.follows) this.scrollToEnd(); });
    observer.observe(list);
    observer.observe(scroller);
  }

  /** Whether the end of the text stays in sight while it grows. */
  follow(yes) {
    this.follows = yes;
    this.toEnd.hidden = yes;
  }

  scrollToEnd() {
    this.scroller.scrollTop = this.scroller.scrollHeight;
  }

  show(conversation) {
    this.conversation = conversation;
    this.follow(true);
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
    for (const [message, view] of this.views) {
      const last = message === messages.at(-1);
      view.update({busy, live: busy && last, last});
    }
  }

  /** After the last message grew. */
  grow() {
    const last = this.conversation.messages.at(-1);
    this.views.get(last)?.update({busy: true, live: true, last: true});
  }

  /** Puts the focus on the branch switch of a message, and the message where it was on the screen. */
  focusBranch(index, step, top) {
    const node = this.list.children[index];
    if (!node) return;
    this.follow(false);
    this.scroller.scrollTop += node.getBoundingClientRect().top - top;
    const buttons = node.querySelectorAll('.branches button');
    [buttons[step < 0 ? 0 : 1], buttons[step < 0 ? 1 : 0]].find(button => button && !button.disabled)?.focus();
  }

  topOf(index) {
    return this.list.children[index]?.getBoundingClientRect().top ?? 0;
  }
}
