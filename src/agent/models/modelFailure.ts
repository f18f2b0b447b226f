import { APICallError } from 'ai';
import { retryAfter } from '../../transport/http.ts';
import { HttpFailure } from '../../transport/httpFailure.ts';
import { localize } from '../locale.ts';
import type { Endpoint } from './endpoint.ts';
import { isModelError, ModelError } from './model.ts';

const MOST = 500;

/** Whatever the SDK threw, in words a user can act on. */
export function modelFailure(error: unknown, endpoint: Endpoint): ModelError {
  if (isModelError(error)) return error;
  const failure = inChain(error, (one) => one instanceof HttpFailure);
  if (failure instanceof HttpFailure) return connectionFailure(failure);
  const answered = inChain(error, (one) => APICallError.isInstance(one) && one.statusCode !== undefined);
  if (APICallError.isInstance(answered)) return statusFailure(answered, endpoint);
  const text = error instanceof Error ? error.message : JSON.stringify(error);
  const reason = error instanceof Error ? error.name : 'StreamError';
  return new ModelError(
    'service',
    localize(`The answer of ${endpoint.name} broke off: ${text.slice(0, MOST)}`, `${endpoint.name} 的回答中断了：${text.slice(0, MOST)}`),
    { retry: true, reason },
  );
}

function connectionFailure(failure: HttpFailure): ModelError {
  const lasting =
    failure.kind === 'refused' || failure.kind === 'unknownHost' || failure.kind === 'address' || failure.kind === 'certificate';
  const advice = lasting
    ? localize(
        ' Start the model server, or correct the setting parley.model.baseUrl.',
        ' 请启动模型服务，或更正设置 parley.model.baseUrl。',
      )
    : '';
  return new ModelError('service', `${failure.message}${advice}`, {
    retry: !lasting && failure.kind !== 'aborted',
    reason: 'ConnectionError',
  });
}

function statusFailure(error: APICallError, { baseUrl, name }: Endpoint): ModelError {
  const status = error.statusCode ?? 0;
  const said =
    error.message === '' ? '' : localize(` It says: ${error.message.slice(0, MOST)}`, ` 对方说：${error.message.slice(0, MOST)}`);
  const more = { status, reason: `HTTP ${status}` };
  if (status === 401 || status === 403) {
    return new ModelError(
      'login',
      localize(
        `${baseUrl} refused the key (HTTP ${status}). Run “Parley: Configure Model” and give a valid one.`,
        `${baseUrl} 拒绝了密钥（HTTP ${status}）。请运行“Parley: Configure Model”并填写有效的密钥。`,
      ) + said,
      more,
    );
  }
  if (status === 404) {
    return new ModelError(
      'service',
      localize(
        `${baseUrl} has no model “${name}” (HTTP 404). Check the settings parley.model.name and parley.model.baseUrl (most end in /v1).`,
        `${baseUrl} 没有模型“${name}”（HTTP 404）。请检查设置 parley.model.name 和 parley.model.baseUrl（通常以 /v1 结尾）。`,
      ) + said,
      more,
    );
  }
  if (status === 408 || status === 409 || status === 429 || status >= 500) {
    const wait = retryAfter(error.responseHeaders ?? {}, Date.now());
    const what = status === 429 ? localize(' has too many requests', ' 请求过多') : localize(' failed', ' 出错');
    return new ModelError('service', `${baseUrl}${what} (HTTP ${status}).${said}`, {
      ...more,
      retry: true,
      ...(wait === undefined ? {} : { retryAfter: wait / 1000 }),
    });
  }
  if (/image|vision|multimodal|audio/i.test(error.message))
    return new ModelError('model_cannot', localize(`${name} cannot take this input.`, `${name} 不支持这种输入。`) + said, more);
  const long = /context|too long|maximum.*tokens|prompt.*large/i.test(error.message)
    ? localize(' The conversation may be too long for it: try /compact.', ' 对话可能太长：请试试 /compact。')
    : '';
  return new ModelError(
    'service',
    localize(`${baseUrl} refused the request (HTTP ${status}).`, `${baseUrl} 拒绝了请求（HTTP ${status}）。`) + said + long,
    more,
  );
}

/** The first thing in a chain of causes (and of gathered errors) that fits. */
function inChain(error: unknown, fits: (one: unknown) => boolean): unknown {
  for (let at = error, hops = 0; at !== undefined && at !== null && hops < 10; hops += 1) {
    if (fits(at)) return at;
    at = at instanceof Error ? at.cause : undefined;
  }
  return undefined;
}
