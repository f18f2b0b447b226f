import { registerControls } from './controls.ts';
import { Host } from './host.ts';
import { Chat } from './render.ts';
import { keepTokenColours } from './tokenColours.ts';
import { reportTyping } from './typing.ts';
import './style.css';

registerControls();
const root = document.createElement('div');
root.className = 'app';
document.body.append(root);
const host = new Host();
new Chat(host, root);
keepTokenColours(host);
window.addEventListener('focus', () => host.post({ type: 'focused', on: true }));
window.addEventListener('blur', () => host.post({ type: 'focused', on: false }));
if (document.hasFocus()) host.post({ type: 'focused', on: true });
reportTyping(root, () => host.post({ type: 'typing' }));
