// SPDX-License-Identifier: Apache-2.0
//
// Making elements, asking in a dialog, telling a screen reader, copying. Strings become text here, never HTML.

export const find = selector => document.querySelector(selector);

/** element('button', {class: 'icon', onclick: f}, 'text', child...). An attribute that is false or null is left out. */
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'function') made.addEventListener(name.replace(/^on/, ''), value);
    else if (value === true) made.setAttribute(name, '');
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

const kSvg = 'http://www.w3.org/2000/svg';

export function icon(name) {
  const svg = document.createElementNS(kSvg, 'svg');
  svg.setAttribute('aria-hidden', 'true');
  svg.append(document.createElementNS(kSvg, 'use'));
  setIcon(svg, name);
  return svg;
}

export function setIcon(svg, name) {
  svg.firstElementChild.setAttribute('href', `#icon-${name}`);
}

export function iconButton(name, label, onclick, attributes = {}) {
  return element('button', {type: 'button', class: 'icon', title: label, 'aria-label': label, onclick, ...attributes},
                 icon(name));
}

function field({label, value = '', type = 'text', pattern, required = true, choices = []}, index) {
  const listId = `ask-choices-${index}`;
  const input = type === 'long' ? element('textarea', {rows: 8}, value) :
      element('input', {type, value, required, pattern, autocomplete: 'off', list: choices.length ? listId : null});
  const offered = element('datalist', {id: listId}, ...choices.map(choice => element('option', {value: choice})));
  return {input, node: element('label', {class: 'field'}, label, input, ...(choices.length ? [offered] : []))};
}

/**
 * Asks in a modal dialog. With `inputs` ({label, value, type: that of an input
 * or 'long', pattern, required, choices}) the answer is the list of
 * their texts, else true; null if the person cancels.
 */
export function ask({title, text, action, danger = false, inputs = []}) {
  const fields = inputs.map(field);
  const cancel = element('button', {type: 'button', onclick: () => dialog.close()}, 'Cancel');
  const form = element('form', {method: 'dialog', onsubmit: () => { dialog.returnValue = 'yes'; }},
                       element('h2', {}, title), ...(text ? [element('p', {}, text)] : []), ...fields.map(({node}) => node),
                       element('div', {class: 'row end'}, cancel,
                               element('button', {type: 'submit', value: 'yes', class: danger ? 'danger' : 'primary'},
                                       action)));
  const dialog = element('dialog', {class: 'ask', 'aria-label': title}, form);
  document.body.append(dialog);
  dialog.showModal();
  if (fields.length) fields[0].input.select();
  else if (danger) cancel.focus();
  return new Promise(resolve => {
    dialog.addEventListener('close', () => {
      dialog.remove();
      // Chromium gives the focus back by itself, but not always the caret, without which no key writes.
      const back = document.activeElement;
      back.blur();
      back.focus();
      if (dialog.returnValue !== 'yes') resolve(null);
      else resolve(fields.length ? fields.map(({input}) => input.value.trim()) : true);
    });
  });
}

/** Says `text` to a screen reader once it is done with what it says now. */
export function announce(text) {
  const region = find('#announcer');
  region.append(element('p', {}, text));
  while (region.childElementCount > 20) region.firstElementChild.remove();
}

/** Says a growing text sentence by sentence, from an offset on; `finished` says that it will not grow any more. */
export function sayer(said) {
  return (text, finished) => {
    const rest = text.slice(said);
    const end = finished ? rest.length : /^[\s\S]*[.!?:\n](?=\s)/.exec(rest)?.[0].length ?? 0;
    if (rest.slice(0, end).trim() !== '') announce(rest.slice(0, end));
    said += end;
  };
}

export async function copy(text, button) {
  // Pages that came over plain HTTP from another machine have no navigator.clipboard.
  if (navigator.clipboard) {
    await navigator.clipboard.writeText(text);
  } else {
    const area = element('textarea', {class: 'visually-hidden'});
    area.value = text;
    (button.closest('dialog') ?? document.body).append(area);
    area.select();
    document.execCommand('copy');
    area.remove();
    button.focus();
  }
  announce('Copied');
  setIcon(button.querySelector('svg'), 'check');
  setTimeout(() => setIcon(button.querySelector('svg'), 'copy'), 1500);
}

/** Whether one writes on glass: no keys to spare, and a keyboard that covers half the page. */
export const isTouch = () => matchMedia('(pointer: coarse)').matches;

/** A text area that is as high as its text, and sends on Enter where there is a real keyboard. */
export function growing(area, send) {
  const fit = () => {
    area.style.height = 'auto';
    area.style.height = `${area.scrollHeight + area.offsetHeight - area.clientHeight}px`;
  };
  area.addEventListener('input', fit);
  area.addEventListener('keydown', event => {
    const plain = !event.shiftKey && !isTouch();
    if (event.key !== 'Enter' || event.isComposing || !(plain || event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    send();
  });
  return fit;
}

export function saveFile(blob, name) {
  const link = element('a', {href: URL.createObjectURL(blob), download: name});
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}
