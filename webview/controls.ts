import './nonce.ts';
import { provideVSCodeDesignSystem, vsCodeButton, vsCodeTextArea } from '@vscode/webview-ui-toolkit';

/** Makes the toolkit's elements known to the page: `vscode-button` and so on. The only place that knows the toolkit. */
export function registerControls(): void {
  provideVSCodeDesignSystem().register(vsCodeButton(), vsCodeTextArea());
}
