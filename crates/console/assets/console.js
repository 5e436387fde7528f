// What pages can do besides: copy buttons, and menus that close by themselves. Every page works without it.

for (const button of document.querySelectorAll('button[data-copy]')) {
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
  const search = document.querySelector('.filters input[type=search]');
  if (event.key === '/' && !typing && search && !event.ctrlKey && !event.metaKey && !event.altKey) {
    event.preventDefault();
    search.focus();
  }
});
