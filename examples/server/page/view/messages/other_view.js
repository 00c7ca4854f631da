// SPDX-License-Identifier: Apache-2.0
//
// System prompts, which can be edited, and what tools gave.
import {element} from '../elements.js';
import {toolDetails} from './json_view.js';
import {MessageView, nameOf} from './message_view.js';

export class OtherView extends MessageView {
  constructor(...given) {
    super(...given);
    const {role, content, name} = this.message;
    if (role === 'tool') {
      this.node.replaceChildren(toolDetails('Result of', name || 'a tool', content, this.branches));
      return;
    }
    const shown = element('div', {class: 'text'}, content);
    if (role === 'system') {
      this.tools.append(this.editButton({
        label: 'Edit the system prompt', field: 'System prompt', action: 'Use in a new branch', shown,
        text: () => content, send: text => this.actions.change(this.index, text),
      }));
    }
    this.tools.append(this.branches);
    this.node.replaceChildren(element('details', {}, element('summary', {}, name ? `${nameOf(role)}: ${name}` : nameOf(role)),
                                      shown, this.tools));
  }

  updateBranches(busy) {
    super.updateBranches(busy);
    // A prompt that differs between branches says so.
    if (!this.branches.hidden) this.node.firstElementChild.after(this.branches);
  }
}
