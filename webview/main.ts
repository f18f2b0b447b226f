import './nonce.ts';
import { provideVSCodeDesignSystem, vsCodeTextArea } from '@vscode/webview-ui-toolkit';
import { HostConnection } from './host.ts';
import { ChatRenderer } from './render.ts';
import { reportSize } from './sight.ts';
import { ignoreChords, reportTyping } from './typing.ts';
import './style.css';

// The only file that uses the toolkit: registers its element with the page.
provideVSCodeDesignSystem().register(vsCodeTextArea());
const root = document.createElement('div');
root.className = 'app';
document.body.append(root);
const host = new HostConnection();
new ChatRenderer(host, root);
window.addEventListener('focus', () => host.post({ type: 'focused', on: true }));
window.addEventListener('blur', () => host.post({ type: 'focused', on: false }));
if (document.hasFocus()) host.post({ type: 'focused', on: true });
reportSize(window, (size) => host.post({ type: 'window', ...size }));
reportTyping(root, () => host.post({ type: 'typing' }));
ignoreChords(window);
