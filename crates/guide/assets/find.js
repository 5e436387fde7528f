
// The list of operations follows what is typed.

const find = by('find');
if (find) {
  let timer;
  let turn = 0;
  const refresh = async () => {
    const now = ++turn;
    const text = find.elements.q.value.trim();
    const address = text ? `${root}?q=${encodeURIComponent(text)}` : root;
    const answer = await fetch(address).catch(() => null);
    if (!answer?.ok) return;
    const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
    if (now !== turn) return;
    by('found').replaceWith(page.getElementById('found'));
    history.replaceState(null, '', address);
  };
  find.elements.q.addEventListener('input', () => {
    clearTimeout(timer);
    timer = setTimeout(refresh, 150);
  });
}
document.addEventListener('keydown', (event) => {
  const isTyping = event.target.closest('input, textarea, select, dialog');
  if (event.key !== '/' || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  document.querySelector('input[name=q]').focus();
});
