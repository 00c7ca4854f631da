// SPDX-License-Identifier: Apache-2.0
//
// Titles of conversations: what they are made of, and the folders that they name.
import {splitFiles} from './files.js';

const kTitleLength = 60;

/** A title for a conversation that begins with this message. */
export function titleFor(content) {
  const {text, files} = splitFiles(content);
  const line = (text || files.map(file => file.name).join(', ')).split('\n')[0];
  return line.length > kTitleLength ? `${line.slice(0, kTitleLength - 1)}\u2026` : line;
}

const kInFolder = ' \u203a ';

/** A title names its folder before this mark: 'Work \u203a Plans'. {folder, name}. */
export function splitTitle(title) {
  const at = title.indexOf(kInFolder);
  return at < 0 ? {folder: '', name: title} : {folder: title.slice(0, at), name: title.slice(at + kInFolder.length)};
}

export const joinTitle = ({folder, name}) => (folder ? folder + kInFolder + name : name);
