import assert from 'node:assert/strict';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type ConfigureInputs, configureModel } from '../../src/editor/configureModel.ts';
import { modelSettings, setModel } from '../../src/editor/settings.ts';

type Answer = string | typeof LEAVE | typeof GO_BACK;
const LEAVE = Symbol('leave');
const GO_BACK = Symbol('go back');

describe('configuring a model', () => {
  let server: Server;
  let baseUrl: string;
  let key: string | undefined;
  /** How often the keyboard was held while the models were listed. */
  let held: number;
  const secrets = {
    modelKey: async () => key,
    setModelKey: async (next: string | undefined) => {
      key = next;
    },
  };

  before(async () => {
    server = createServer(({ headers: { authorization }, url }, answer) => {
      const isOpen = url?.startsWith('/open/') ?? false;
      const accepted = isOpen || authorization === 'Bearer right';
      answer.writeHead(accepted ? 200 : 401).end(JSON.stringify({ data: [{ id: 'small' }, { id: 'large' }] }));
    });
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
    baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  after(() => server.close());
  beforeEach(() => {
    key = undefined;
    held = 0;
  });
  afterEach(() => setModel({ baseUrl: '', name: '' }));

  /** Answers each input in turn: a row by its label, a text, the way back, or leaving; what was asked comes back. */
  let offered: readonly string[] = [];
  const through = async (answers: readonly Answer[], start?: Parameters<typeof configureModel>[2]) => {
    const left = [...answers];
    const asked: string[] = [];
    const next = (title: string) => {
      asked.push(title);
      const answer = left.shift();
      assert.ok(answer !== undefined, `nothing answers "${title}"`);
      return answer;
    };
    const inputs: ConfigureInputs = {
      pick: async (choices, { title, placeholder = title, back }) => {
        offered = choices.map(({ label }) => label);
        const answer = next(placeholder);
        if (answer === GO_BACK) return back;
        return choices.find(({ label }) => label.replace(/^\$\(\w+\) /, '') === answer)?.value;
      },
      input: async ({ prompt = '', back, check }) => {
        const answer = next(prompt);
        if (answer === GO_BACK) return back;
        if (typeof answer !== 'string') return undefined;
        assert.equal(check?.(answer), undefined, prompt);
        return answer;
      },
      holding: async (_, underWay) => {
        held += 1;
        await underWay;
      },
    };
    const keep = await configureModel(inputs, secrets, start);
    await keep?.();
    return asked;
  };
  const custom = 'Another OpenAI-compatible endpoint…';

  it('a server on this computer is not asked for a key: its models are the next question', async () => {
    const asked = await through(['large'], { name: 'Local', baseUrl: `${baseUrl}/open`, needsKey: false });
    assert.deepEqual(asked, ['Model']);
    assert.deepEqual(modelSettings(), { baseUrl: `${baseUrl}/open`, name: 'large' });
  });

  it('a key that the endpoint refuses is asked for again, and only the right one is kept', async () => {
    const asked = await through([custom, `${baseUrl}/v1/`, 'wrong', 'right', 'small']);
    assert.match(asked[3] ?? '', /did not accept the key/);
    assert.deepEqual([key, held], ['right', 3]);
    assert.deepEqual(modelSettings(), { baseUrl: `${baseUrl}/v1`, name: 'small' });
  });

  it('a service that needs a key does not say that it may need none', async () => {
    const asked = await through(['right', 'small'], { name: 'Service', baseUrl: `${baseUrl}/v1`, needsKey: true });
    assert.equal(asked[0], 'API key for Service. It is kept in secret storage.');
    const ofOwn = await through([custom, `${baseUrl}/open`, '', LEAVE]);
    assert.match(ofOwn[2] ?? '', /, if it needs one\./);
  });

  it('a server that runs on this computer is the first row, before those that do not', async () => {
    const { fetch } = globalThis;
    const running = new URL('http://localhost:8080/v1/models').href;
    globalThis.fetch = async (address) =>
      String(address) === running ? Response.json({ data: [{ id: 'one' }] }) : Promise.reject(new Error('refused'));
    try {
      await through([LEAVE]);
    } finally {
      globalThis.fetch = fetch;
    }
    assert.deepEqual(offered.slice(0, 4), ['llama.cpp', 'Ollama', 'LM Studio', 'vLLM']);
  });

  it('every step has a way back, and leaving it stores nothing', async () => {
    const asked = await through([custom, `${baseUrl}/v1`, 'right', GO_BACK, GO_BACK, LEAVE]);
    assert.deepEqual(asked.slice(3), ['Model', asked[2], 'Search']);
    assert.deepEqual([key, modelSettings().name], [undefined, '']);
  });

  it('a server that is not running is named with the reason, is tried again, and a model can be typed', async () => {
    const asked = await through(['Try again', 'Other…', 'mine'], { name: 'Ollama', baseUrl: 'http://127.0.0.1:9/v1', needsKey: false });
    assert.equal(held, 2);
    for (const one of asked) assert.match(one, /^Ollama did not list its models\. .+127\.0\.0\.1:9.+ You can type/);
    assert.equal(modelSettings().name, 'mine');
  });
});
