// Keeps an open payment page up to date. The page is complete without this script: a change is shown by loading the
// page again and taking its card, so that all words come from the server.

/** While there is no connection for events. */
const POLL_MS = 5_000;
/** Polls after which a connection is tried again. */
const POLLS_OF_A_TRY = 12;
const SECOND_MS = 1_000;
/** The countdown is spoken at these seconds only. */
const SPOKEN_AT = new Map([
  [300, '5 minutes left'],
  [60, '1 minute left'],
]);

/** @type {EventSource | undefined} */
let source;
/** @type {number | undefined} */
let pollTimer;
/** @type {number | undefined} */
let clockTimer;
let polls = 0;
let isLoading = false;
let isStale = false;

/** The card of this page, or of one that was loaded. */
const cardOf = (from = document) => from.getElementById('payment');

/** @param {string} text */
function announce(text) {
  const region = document.getElementById('announcement');
  if (region !== null) region.textContent = text;
}

/** Loads the page again, and shows what has changed. Later again, if that fails. */
async function refresh() {
  // What is being loaded may be older than this change.
  isStale = true;
  if (isLoading) return;
  isLoading = true;
  while (isStale) {
    isStale = false;
    if (!(await load())) poll();
  }
  isLoading = false;
}

/** False: offline, or refused. */
async function load() {
  try {
    const response = await fetch(location.href, { cache: 'no-store' });
    if (response.ok) show(new DOMParser().parseFromString(await response.text(), 'text/html'));
    return response.ok;
  } catch {
    return false;
  }
}

/** @param {Document} loaded */
function show(loaded) {
  const card = cardOf();
  const next = cardOf(loaded);
  if (card === null || next === null) return;
  const isSame = card.dataset.state === next.dataset.state && card.dataset.version === next.dataset.version;
  if (isSame) {
    count(Number(next.dataset.remaining));
    return;
  }
  const focused = card.contains(document.activeElement) ? (document.activeElement?.id ?? '') : null;
  // A loaded page is read as without scripts.
  for (const each of next.querySelectorAll('noscript')) each.remove();
  card.replaceWith(next);
  document.title = loaded.title;
  begin();
  // The focus stays where it was; where that is gone, it goes to what is new.
  if (focused !== null) (document.getElementById(focused) ?? document.getElementById('headline'))?.focus();
  announce([...next.querySelectorAll('h1, .explanation')].map((each) => each.textContent?.trim()).join(' '));
}

/**
 * Shows the time that is left, by the clock of the server.
 * @param {number} seconds
 */
function count(seconds) {
  clearInterval(clockTimer);
  const shown = document.getElementById('countdown');
  if (shown === null || Number.isNaN(seconds)) return;
  const endsAt = performance.now() + seconds * SECOND_MS;
  const tick = () => {
    const left = Math.max(0, Math.ceil((endsAt - performance.now()) / SECOND_MS));
    shown.textContent = clockText(left);
    const spoken = SPOKEN_AT.get(left);
    if (spoken !== undefined) announce(spoken);
    if (left > 0) return;
    clearInterval(clockTimer);
    setTimeout(() => void refresh(), SECOND_MS);
  };
  tick();
  clockTimer = setInterval(tick, SECOND_MS);
}

/**
 * `1:05:09` or `5:09`.
 * @param {number} seconds
 */
function clockText(seconds) {
  const two = (/** @type {number} */ value) => String(value).padStart(2, '0');
  const hours = Math.floor(seconds / 3600);
  const minutes = Math.floor(seconds / 60) % 60;
  return hours > 0 ? `${hours}:${two(minutes)}:${two(seconds % 60)}` : `${minutes}:${two(seconds % 60)}`;
}

function prepareCopy() {
  // Without https there is no clipboard; the number is selected as a whole by one tap.
  if (navigator.clipboard === undefined) return;
  for (const button of document.querySelectorAll('[data-copy]')) {
    if (!(button instanceof HTMLButtonElement)) continue;
    const name = button.closest('dl > div')?.querySelector('dt')?.textContent ?? '';
    button.hidden = false;
    button.addEventListener('click', () => {
      navigator.clipboard.writeText(button.dataset.copy ?? '').then(
        () => {
          button.textContent = 'Copied';
          announce(`${name} copied`);
        },
        () => {
          button.textContent = 'Not copied';
          announce(`${name} could not be copied`);
        },
      );
    });
  }
}

/** Events of the server while the page is live, else polls. */
function listen() {
  source?.close();
  clearTimeout(pollTimer);
  const card = cardOf();
  if (card?.dataset.live !== 'true') return;
  source = new EventSource(`${location.pathname}/events?version=${card.dataset.version}`);
  source.addEventListener('change', () => void refresh());
  source.addEventListener('error', () => {
    // After a lost connection the browser connects again by itself; after a refusal it does not.
    if (source?.readyState === EventSource.CLOSED) poll();
  });
}

function poll() {
  clearTimeout(pollTimer);
  pollTimer = setTimeout(async () => {
    polls += 1;
    await refresh();
    if (cardOf()?.dataset.live !== 'true') return;
    if (polls % POLLS_OF_A_TRY === 0) listen();
    else if (source === undefined || source.readyState === EventSource.CLOSED) poll();
  }, POLL_MS);
}

/** Of the card that is shown now. */
function begin() {
  const card = cardOf();
  const waiting = document.getElementById('waiting');
  if (waiting !== null) waiting.hidden = false;
  count(Number(card?.dataset.remaining ?? Number.NaN));
  prepareCopy();
  listen();
}

begin();
// A phone stops the page while another app, such as that of the bank, is in front.
document.addEventListener('visibilitychange', () => {
  if (document.visibilityState === 'visible') void refresh();
});
