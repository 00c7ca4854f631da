// SPDX-License-Identifier: Apache-2.0
//
// What the person chooses: the model, sampling, the system prompt of new conversations, what is shown, light or dark. Kept in this
// browser; a sampler setting left empty is the server's to choose.
import {element, find} from './view/elements.js';

const kStored = 'skald.settings';

const kSampling = [
  {name: 'temperature', label: 'Temperature', min: 0, max: 2, step: 0.05, hint: '0 takes the likeliest'},
  {name: 'top_p', label: 'Top-p', min: 0, max: 1, step: 0.01, hint: 'share of probability to draw from'},
  {name: 'top_k', label: 'Top-k', min: 0, step: 1, hint: 'likeliest tokens to draw from'},
  {name: 'min_p', label: 'Min-p', min: 0, max: 1, step: 0.01, hint: 'lower limit, as a share of the likeliest'},
  {name: 'max_tokens', label: 'Max tokens', min: 1, step: 1, hint: 'in one answer'},
  {name: 'seed', label: 'Seed', min: 0, max: Number.MAX_SAFE_INTEGER, step: 1, hint: 'same seed, same answer'},
  {name: 'presence_penalty', label: 'Presence penalty', min: -2, max: 2, step: 0.1, hint: 'for what has come'},
  {name: 'frequency_penalty', label: 'Frequency penalty', min: -2, max: 2, step: 0.1, hint: 'for each time it came'},
  {name: 'repetition_penalty', label: 'Repetition penalty', min: 0.1, max: 3, step: 0.05, hint: '1 is none'},
];

function stored() {
  try {
    return JSON.parse(localStorage.getItem(kStored)) ?? {};
  } catch {
    return {};
  }
}

let values = {sampling: {}, thoughts: '', system: '', marks: false, theme: '', ...stored()};

function change(changes) {
  values = {...values, ...changes};
  localStorage.setItem(kStored, JSON.stringify(values));
  apply();
}

function apply() {
  document.documentElement.dataset.theme = values.theme;
  document.documentElement.classList.toggle('marks', values.marks);
}

let model = null;  // null where the server has but one

// A template that knows no such variable does not mind it.
const kThoughts = {yes: {chat_template_kwargs: {enable_thinking: true}}, no: {chat_template_kwargs: {enable_thinking: false}}};

/** The model, the sampler settings and whether to think, as a request has them. */
export const choices = () => ({...values.sampling, ...kThoughts[values.thoughts], ...(model === null ? {} : {model})});
export const hasSeveralModels = () => model !== null;
export const systemPrompt = () => values.system.trim();

function samplingField({name, label, hint, ...limits}) {
  const input = element('input', {type: 'number', inputmode: Number.isInteger(limits.step) ? 'numeric' : 'decimal', name,
                                  ...limits, step: Number.isInteger(limits.step) ? limits.step : 'any',
                                  placeholder: 'default', 'aria-describedby': `${name}-hint`});
  input.value = values.sampling[name] ?? '';
  input.addEventListener('input', () => {
    const {[name]: old, ...others} = values.sampling;
    if (!input.checkValidity()) return;
    change({sampling: input.value === '' ? others : {...others, [name]: input.valueAsNumber}});
  });
  input.addEventListener('change', () => input.reportValidity());
  return element('div', {class: 'field'}, element('label', {}, label, input),
                 element('small', {id: `${name}-hint`}, hint));
}

/** Offers the server's models, by their names; `show` gets the one that is chosen, now and whenever it changes. */
export function offerModels(names, show) {
  const select = find('#model-choice');
  const choose = name => {
    model = names.length > 1 ? name : null;
    show(name);
  };
  find('#models').hidden = names.length < 2;
  select.replaceChildren(...names.map(name => element('option', {}, name)));
  select.value = names.includes(values.model) ? values.model : names[0];
  select.onchange = () => {
    change({model: select.value});
    choose(select.value);
  };
  choose(select.value);
}

/** Fills the sheet's form and opens it from `button`. */
export function setUp() {
  apply();
  const sheet = find('#settings');
  const fields = find('#sampling');
  const fill = () => fields.replaceChildren(...kSampling.map(samplingField));
  fill();
  find('#defaults').addEventListener('click', () => {
    change({sampling: {}});
    fill();
    fields.querySelector('input').focus();
  });
  const system = find('#system');
  system.value = values.system;
  system.addEventListener('input', () => change({system: system.value}));
  const marks = find('#marks');
  marks.checked = values.marks;
  marks.addEventListener('change', () => change({marks: marks.checked}));
  for (const name of ['theme', 'thoughts']) {
    for (const choice of sheet.querySelectorAll(`[name=${name}]`)) {
      choice.checked = choice.value === values[name];
      choice.addEventListener('change', () => change({[name]: choice.value}));
    }
  }
  find('#open-settings').addEventListener('click', () => sheet.showModal());
  find('#model').addEventListener('click', () => {
    sheet.showModal();
    if (model !== null) find('#model-choice').focus();
  });
  find('#close-settings').addEventListener('click', () => sheet.close());
  // A click on the backdrop is one on the dialog itself.
  sheet.addEventListener('click', event => { if (event.target === sheet) sheet.close(); });
}
