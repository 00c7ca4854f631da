// SPDX-License-Identifier: Apache-2.0
//
// What a person said, and the files that came along.
import {splitFiles, withFiles} from '../../talk/files.js';
import {fileSize} from '../attachments.js';
import {copy, element, iconButton} from '../elements.js';
import {MessageView} from './message_view.js';

export class UserView extends MessageView {
  constructor(...given) {
    super(...given);
    const {text, files} = splitFiles(this.message.content);
    const shown = element('div', {class: 'text'}, text);
    shown.hidden = text === '';
    const copyButton = iconButton('copy', 'Copy', () => copy(text, copyButton));
    const send = written => {
      if (written || files.length) this.actions.edit(this.index, withFiles(written, files));
    };
    this.tools.append(this.editButton({label: 'Edit in a new branch', field: 'Edit the message', action: 'Send as a new branch',
                                       shown, text: () => text, send}), copyButton, this.branches);
    this.node.append(...files.map(file => element('details', {class: 'file'},
                         element('summary', {}, element('span', {}, file.name), element('small', {}, fileSize(file.text))),
                         element('pre', {tabindex: 0}, file.text))), shown, this.tools);
  }
}
