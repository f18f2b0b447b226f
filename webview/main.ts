import { registerControls } from './controls.ts';
import { Host } from './host.ts';
import { Chat } from './render.ts';
import './style.css';

registerControls();
const root = document.createElement('div');
root.className = 'app';
document.body.append(root);
new Chat(new Host(), root);
