// SPDX-License-Identifier: Apache-2.0
//
// What the views of all messages have: a name for screen readers, tools, the switch between branches, a form to edit.
import {element, growing, iconButton} from '../elements.js';

const kNames = {user: 'You', assistant: 'Answer', system: 'System prompt', developer: 'System prompt', tool: 'Tool'};

export const nameOf = role => kNames[role] ?? role;

/**
 * `actions` are the page's: edit(index, text), again(index), go(id, index), goOn(), change(index, text),
 * alternatives(index), hasSeveralModels().
 */
export class MessageView {
  constructor(message, index, actions) {
    this.message = message;
    this.index = index;
    this.actions = actions;
    this.tools = element('div', {class: 'tools'});
    this.branches = element('div', {class: 'branches', role: 'group'});
    this.node = element('li', {class: `message ${message.role}`},
                        element('h2', {class: 'visually-hidden'}, nameOf(message.role)));
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

  /** A button that puts a form in the place of `shown`; what is written there goes to `send`. */
  editButton({label, field, action, shown, text, send}) {
    const button = iconButton('edit', label, () => {
      const area = element('textarea', {'aria-label': field, rows: 1});
      area.value = text();
      const close = () => {
        form.replaceWith(shown);
        this.tools.hidden = false;
        this.node.classList.remove('editing');
        button.focus();
      };
      const submit = () => {
        const written = area.value.trim();
        if (button.disabled) return;
        close();
        send(written);
      };
      const form = element('form', {class: 'edit', onsubmit: event => { event.preventDefault(); submit(); }}, area,
                           element('div', {class: 'row end'}, element('button', {type: 'button', onclick: close}, 'Cancel'),
                                   element('button', {type: 'submit', class: 'primary'}, action)));
      form.addEventListener('keydown', event => {
        if (event.key !== 'Escape') return;
        event.stopPropagation();
        close();
      });
      shown.replaceWith(form);
      this.tools.hidden = true;
      this.node.classList.add('editing');
      growing(area, submit)();
      area.focus();
    }, {class: 'icon needs-rest'});
    return button;
  }
}
