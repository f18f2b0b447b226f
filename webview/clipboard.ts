const PICTURE = 'image/png';
/** Milliseconds after which a page that does not get the keyboard tries without it, and says what the browser answers. */
const FOCUS_LIMIT = 2000;

/** Runs what goes over the clipboard, and puts the picture back that was there. Rejects before where it may not be read. */
export async function keepingPicture(work: () => Promise<unknown>): Promise<void> {
  await focused();
  const items = await navigator.clipboard.read();
  const picture = await items.find(({ types }) => types.includes(PICTURE))?.getType(PICTURE);
  try {
    await work();
  } finally {
    await focused();
    if (picture) await navigator.clipboard.write([new ClipboardItem({ [PICTURE]: picture })]);
  }
}

/** Browsers give the clipboard only to the page that has the keyboard. */
function focused(): Promise<void> {
  if (document.hasFocus()) return Promise.resolve();
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, FOCUS_LIMIT);
    const arrived = () => {
      clearTimeout(timer);
      resolve();
    };
    window.addEventListener('focus', arrived, { once: true });
  });
}
