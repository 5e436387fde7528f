// What pages can do besides: copy buttons, menus that close by themselves, searches in long filters, the search field by
// key, and parts that stay up to date. Every page works without it.

const copyable = (root) => {
  for (const button of root.querySelectorAll('button[data-copy]')) {
    if (!navigator.clipboard) continue;
    button.hidden = false;
    button.addEventListener('click', async () => {
      const label = button.querySelector('span');
      const before = label.textContent;
      await navigator.clipboard.writeText(button.dataset.copy);
      label.textContent = button.dataset.done;
      setTimeout(() => { label.textContent = before; }, 2000);
    });
  }
};
copyable(document);

for (const button of document.querySelectorAll('button[data-print]')) {
  button.hidden = false;
  button.addEventListener('click', () => print());
}

// Scrolls a narrow navigation or row of tabs so that the entry of the present page is in its middle.
for (const now of document.querySelectorAll('.side nav [aria-current], .tabs [aria-current]')) {
  const [own, strip] = [now, now.parentElement].map((element) => element.getBoundingClientRect());
  now.parentElement.scrollLeft += own.left - strip.left - (strip.width - own.width) / 2;
}

for (const field of document.querySelectorAll('input.narrow')) {
  field.hidden = false;
  field.addEventListener('input', () => {
    const wanted = field.value.trim().toLowerCase();
    for (const choice of field.parentElement.querySelectorAll('label')) {
      choice.hidden = !choice.textContent.toLowerCase().includes(wanted);
    }
  });
  // Enter would apply the filters before one is ticked.
  field.addEventListener('keydown', (event) => { if (event.key === 'Enter') event.preventDefault(); });
}

const menus = () => document.querySelectorAll('details.choose[open], details.me[open]');

document.addEventListener('click', (event) => {
  for (const menu of menus()) if (!menu.contains(event.target)) menu.open = false;
});

// A branch of the tree opens in its place.
document.addEventListener('click', async (event) => {
  const toggle = event.target.closest('#tree a.toggle');
  if (!toggle || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  const answer = await fetch(toggle.href).catch(() => null);
  const page = answer?.ok && new DOMParser().parseFromString(await answer.text(), 'text/html');
  const tree = page && page.querySelector('#tree');
  if (!tree) return location.assign(toggle.href);
  document.querySelector('#tree').replaceWith(tree);
  history.replaceState(null, '', toggle.href);
  document.getElementById(toggle.id)?.focus();
});

document.addEventListener('keydown', (event) => {
  if (event.key === 'Escape') {
    for (const menu of menus()) {
      menu.open = false;
      menu.querySelector('summary').focus();
    }
  }
  const typing = event.target.closest('input, textarea, select');
  const plain = !event.ctrlKey && !event.metaKey && !event.altKey;
  const isSlash = event.key === '/' && !typing && plain;
  const isPalette = event.key.toLowerCase() === 'k' && (event.ctrlKey || event.metaKey) && !event.altKey;
  const search = document.querySelector('main #find-all') || document.querySelector('.find-all input');
  if (search && (isSlash || isPalette)) {
    event.preventDefault();
    search.focus();
    search.select();
  }
});

// A part with data-live names the topics of events that concern it. The page is fetched again a moment after such an
// event, and its parts take the place of those shown.
const PAUSE = 1500;
const parts = () => [...document.querySelectorAll('[data-live][id]')];
const concerns = (part, topics) => {
  const own = part.dataset.live.split(' ');
  return topics.has('*') || own.includes('*') || own.some((topic) => topics.has(topic));
};
let topics = new Set();
let timer;

const replace = (part, fresh) => {
  const busy = part.contains(document.activeElement) && document.activeElement.closest('input, textarea, select');
  if (!fresh || busy || part.querySelector('details.choose[open]')) return;
  const open = [...part.querySelectorAll('details')].map((details) => details.open);
  const focused = part.contains(document.activeElement) && document.activeElement.getAttribute('href');
  const next = document.adoptNode(fresh);
  const folded = [...next.querySelectorAll('details')];
  if (folded.length === open.length) folded.forEach((details, at) => { details.open = open[at]; });
  part.replaceWith(next);
  copyable(next);
  if (focused) next.querySelector(`a[href="${CSS.escape(focused)}"]`)?.focus();
};

const refresh = async () => {
  timer = undefined;
  const now = topics;
  topics = new Set();
  const answer = await fetch(location.href, { redirect: 'error' }).catch(() => undefined);
  if (!answer?.ok) return;
  const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
  for (const part of parts()) if (concerns(part, now)) replace(part, page.getElementById(part.id));
};

let stream;
const listen = () => {
  // An impersonation records every request, so the page then fetches itself only when the person asks for it.
  if (stream || document.hidden || !parts().length || document.querySelector('.band.acting')) return;
  stream = new EventSource('/console/events');
  const news = (isHidden) => { for (const link of document.querySelectorAll('.news')) link.hidden = isHidden; };
  stream.addEventListener('open', () => news(true));
  stream.addEventListener('end', () => { stream.close(); news(false); });
  stream.addEventListener('error', () => { if (stream?.readyState === EventSource.CLOSED) news(false); });
  stream.addEventListener('message', (event) => {
    topics.add(event.data.split('.')[0]);
    if (parts().some((part) => concerns(part, topics))) timer ??= setTimeout(refresh, PAUSE);
  });
};
document.addEventListener('visibilitychange', () => {
  if (!document.hidden) return listen();
  stream?.close();
  stream = undefined;
});
listen();
