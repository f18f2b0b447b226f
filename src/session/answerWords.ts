import type { Option } from './model.ts';
import { firstInText, HIDDEN } from './visible.ts';

// Reads the name of an answer as yes or no, in the languages that agents and their models write, and in letters that only look like those.

/** The most UTF-16 units of a name that are read. */
const LONGEST_NAME = 10_000;

/** Small letters of other scripts, and signs of Latin ones, that look like a Latin letter after compatibility forms and marks are gone. */
const LOOK_ALIKES: Readonly<Record<string, string>> = {
  a: 'аɑαᴀᗅꓮⲁ4@',
  b: 'ЬьвʙβᏼᗷꓐᏴ',
  c: 'сϲᴄⅽꮯᏟꓚⲥ',
  d: 'ԁɗᴅꓓᗞᎠժ',
  e: 'еєҽɛεᴇꓰᎬⲉ3',
  f: 'ғϝꜰꓝᖴſ',
  g: 'ɡԍցɢꓖᏀ',
  h: 'һнηʜհꓧᎻⲏ',
  i: 'іıɪιӏꓲ1|',
  j: 'јϳᴊյꓙᎫɉ',
  k: 'кκᴋⲕꓗᏦқ',
  l: 'ʟꓡᏞᒪ',
  m: 'мᴍⅿꓟᎷⲙ',
  n: 'ոɴпռꓠⲛηи',
  o: 'оοσօᴏꓳⲟ0௦ഠ',
  p: 'рρᴘꓑᏢⲣᑭ',
  q: 'ԛզգ',
  r: 'гʀɾꓣᏒᎡя',
  s: 'ѕꜱꓢᏚ$ʂ5',
  t: 'тτᴛꓔᎢⲧ7',
  u: 'սυᴜꓴцʋ',
  v: 'ѵνᴠꓦᏙⱱ',
  w: 'ѡωԝᴡꓪᎳш',
  x: 'хχҳꓫⲭ×',
  y: 'уγүʏꓬᎽⲩ',
  z: 'ᴢꓜᏃʐ',
};
const LATIN: ReadonlyMap<string, string> = new Map(
  Object.entries(LOOK_ALIKES).flatMap(([latin, others]) => [...others].map((one) => [one.toLowerCase(), latin] as const)),
);

/** The name as it looks: without marks, case and letters of other scripts that look like Latin ones. */
function skeleton(text: string): string {
  const plain = text.slice(0, LONGEST_NAME).replace(HIDDEN, '').normalize('NFKD').toLowerCase().replace(/\p{M}/gu, '');
  const letters = [...plain].map((one) => LATIN.get(one) ?? one).join('');
  // Letters with something between each two: "R e j e c t".
  return letters.replace(/(?<!\p{L})\p{L}(?:[\s._*·-]{1,3}\p{L}(?!\p{L})){2,}/gu, (word) => word.replace(/[^\p{L}]/gu, ''));
}

interface Words {
  /** Words and beginnings of sentences. */
  readonly first: readonly string[];
  /** Words that say it anywhere in the name. */
  readonly anywhere: readonly string[];
}

const REFUSING: Words = {
  first: [
    ...[
      'no',
      'nope',
      'nah',
      'not',
      'reject',
      'rejected',
      'deny',
      'denied',
      'decline',
      'refuse',
      'cancel',
      'abort',
      'dont',
      'don t',
      'do not',
    ],
    ...[
      'never',
      'nothing',
      'disallow',
      'disagree',
      'disapprove',
      'block',
      'stop',
      'skip',
      'dismiss',
      'forbid',
      'prohibit',
      'prevent',
      'veto',
    ],
    ...['keep me safe', 'leave', 'quit', 'exit', 'close', 'back', 'go back', 'discard', 'halt', 'terminate', 'revoke', 'turn down', 'ban'],
    ...['negative', 'rather not', 'i refuse', 'i decline', 'i do not', 'i don t', 'false'],
    // German
    ...[
      'ablehnen',
      'abgelehnt',
      'verweigern',
      'nein',
      'nicht',
      'abbrechen',
      'abbruch',
      'verbieten',
      'blockieren',
      'zurückweisen',
      'untersagen',
    ],
    ...['sperren', 'verwerfen', 'schließen', 'überspringen', 'niemals', 'stopp', 'stoppen', 'anhalten', 'unterlassen'],
    // French
    ...['refuser', 'rejeter', 'non', 'annuler', 'interdire', 'bloquer', 'ne pas', 'arrêter', 'décliner', 'ignorer', 'jamais', 'refus'],
    // Spanish, Portuguese, Italian, Catalan
    ...['rechazar', 'denegar', 'cancelar', 'negar', 'prohibir', 'bloquear', 'detener', 'declinar', 'nunca', 'omitir', 'rebutjar', 'denega'],
    ...[
      'rejeitar',
      'recusar',
      'não',
      'proibir',
      'parar',
      'rifiuta',
      'rifiutare',
      'nega',
      'negare',
      'annulla',
      'annullare',
      'blocca',
      'vieta',
    ],
    ...['respingi', 'ferma', 'interrompi', 'mai', 'salta', 'rebutja', 'cancel la'],
    // Dutch, Swedish, Danish, Norwegian, Finnish
    ...[
      'weigeren',
      'afwijzen',
      'nee',
      'annuleren',
      'blokkeren',
      'niet',
      'weiger',
      'avvisa',
      'neka',
      'nej',
      'avbryt',
      'avböj',
      'avvis',
      'avslå',
    ],
    ...[
      'afvis',
      'nægt',
      'nei',
      'nekt',
      'annuller',
      'afslå',
      'blockera',
      'bloker',
      'stopp',
      'hylkää',
      'ei',
      'kiellä',
      'peruuta',
      'estä',
      'hylkaa',
    ],
    // Polish, Czech, Slovak, Hungarian, Romanian, Turkish
    ...[
      'odrzuć',
      'odmów',
      'nie',
      'anuluj',
      'zablokuj',
      'zabroń',
      'odmítnout',
      'zamítnout',
      'ne',
      'zrušit',
      'zakázat',
      'odmietnuť',
      'zamietnuť',
    ],
    ...['zrušiť', 'elutasít', 'elutasítás', 'nem', 'mégse', 'mégsem', 'tiltás', 'letiltás', 'tilt', 'respinge', 'refuză', 'nu', 'anulează'],
    ...['interzice', 'reddet', 'hayır', 'iptal', 'engelle', 'izin verme', 'reddediyorum', 'vazgeç'],
    // Russian, Ukrainian, Bulgarian, Serbian, Greek
    ...[
      'отклонить',
      'отказать',
      'отказаться',
      'отказ',
      'запретить',
      'нет',
      'отмена',
      'отменить',
      'не',
      'блокировать',
      'заблокировать',
      'стоп',
    ],
    ...[
      'відхилити',
      'відмовити',
      'ні',
      'скасувати',
      'заборонити',
      'отхвърли',
      'откажи',
      'забрани',
      'одбиј',
      'откажи',
      'απόρριψη',
      'άρνηση',
      'όχι',
    ],
    ...['ακύρωση', 'απαγόρευση', 'μη', 'να μην'],
    // Hebrew, Arabic, Persian, Hindi, Thai, Vietnamese, Indonesian
    ...[
      'דחה',
      'דחייה',
      'סרב',
      'לא',
      'ביטול',
      'בטל',
      'חסום',
      'رفض',
      'ارفض',
      'لا',
      'إلغاء',
      'منع',
      'حظر',
      'رد',
      'رد کردن',
      'خیر',
      'نه',
      'لغو',
    ],
    ...[
      'अस्वीकार',
      'अस्वीकृत',
      'नहीं',
      'रद्द',
      'मना',
      'ปฏิเสธ',
      'ไม่',
      'ยกเลิก',
      'từ chối',
      'không',
      'hủy',
      'huỷ',
      'tolak',
      'tidak',
      'batal',
      'batalkan',
    ],
    ...['jangan'],
    // Chinese, Japanese, Korean
    ...[
      '否',
      '不',
      '取消',
      '停止',
      '跳过',
      '跳過',
      '禁止',
      '中止',
      '放弃',
      '放棄',
      '别',
      '別',
      '勿',
      '退出',
      '关闭',
      '關閉',
      'いいえ',
      'キャンセル',
    ],
    ...['やめる', 'ダメ', '断る', '아니요', '아니오', '아뇨', '취소', '중지', '안 함', '안함'],
  ],
  anywhere: [
    ...[
      'reject',
      'deny',
      'decline',
      'refuse',
      'ablehnen',
      'verweigern',
      'refuser',
      'rejeter',
      'rechazar',
      'denegar',
      'rejeitar',
      'recusar',
    ],
    ...[
      'rifiuta',
      'weigeren',
      'отклонить',
      'запретить',
      'відхилити',
      '拒绝',
      '拒絕',
      '拒否',
      '却下',
      '否决',
      '否決',
      '驳回',
      '駁回',
      '否認',
      '不允许',
    ],
    ...[
      '不允許',
      '不同意',
      '不批准',
      '許可しない',
      '許可しません',
      '거부',
      '거절',
      '차단',
      '허용하지',
      '허용 안',
      'nicht erlauben',
      'nicht zulassen',
    ],
    ...['ne pas autoriser', 'no permitir', 'não permitir', 'non consentire', 'не разрешать', 'не допускать'],
  ],
};

const ALLOWING: Words = {
  first: [
    ...[
      'yes',
      'yep',
      'yeah',
      'ok',
      'okay',
      'sure',
      'allow',
      'allowed',
      'approve',
      'accept',
      'proceed',
      'always allow',
      'grant',
      'run',
      'confirm',
    ],
    ...[
      'go ahead',
      'execute',
      'agree',
      'permit',
      'continue',
      'do it',
      'i agree',
      'i accept',
      'i approve',
      'authorize',
      'authorise',
      'apply',
      'true',
      'submit',
      'keep going',
      'carry on',
      'lgtm',
      'j accepte',
    ],
    // German, French
    ...[
      'erlauben',
      'zulassen',
      'genehmigen',
      'ja',
      'gestatten',
      'akzeptieren',
      'annehmen',
      'bestätigen',
      'fortfahren',
      'ausführen',
      'zustimmen',
    ],
    ...[
      'weiter',
      'einverstanden',
      'autoriser',
      'permettre',
      'accepter',
      'approuver',
      'oui',
      'confirmer',
      'continuer',
      'exécuter',
      'd accord',
    ],
    // Spanish, Portuguese, Italian, Catalan
    ...['permitir', 'aceptar', 'aprobar', 'sí', 'autorizar', 'confirmar', 'continuar', 'ejecutar', 'permetre', 'aceitar', 'aprovar', 'sim'],
    ...[
      'executar',
      'consenti',
      'consentire',
      'permetti',
      'permettere',
      'accetta',
      'accettare',
      'approva',
      'autorizza',
      'conferma',
      'continua',
    ],
    ...['esegui', 'accepta'],
    // Dutch, Swedish, Danish, Norwegian, Finnish
    ...['toestaan', 'accepteren', 'goedkeuren', 'bevestigen', 'doorgaan', 'uitvoeren', 'tillåt', 'tillad', 'tillat', 'godkänn', 'godkend'],
    ...['godkjenn', 'acceptera', 'accepter', 'bekräfta', 'bekræft', 'salli', 'hyväksy', 'kyllä', 'suorita'],
    // Polish, Czech, Slovak, Hungarian, Romanian, Turkish
    ...[
      'zezwól',
      'pozwól',
      'zatwierdź',
      'akceptuj',
      'zaakceptuj',
      'tak',
      'potwierdź',
      'povolit',
      'schválit',
      'ano',
      'áno',
      'přijmout',
      'potvrdit',
    ],
    ...[
      'povoliť',
      'schváliť',
      'engedélyez',
      'engedélyezés',
      'elfogad',
      'elfogadás',
      'igen',
      'jóváhagy',
      'permite',
      'acceptă',
      'aprobă',
      'da',
    ],
    ...['izin ver', 'onayla', 'evet', 'kabul', 'kabul et', 'devam'],
    // Russian, Ukrainian, Bulgarian, Greek
    ...['разрешить', 'да', 'принять', 'одобрить', 'подтвердить', 'продолжить', 'выполнить', 'согласен', 'дозволити', 'так', 'прийняти'],
    ...['схвалити', 'разреши', 'позволи', 'приеми', 'одобри', 'αποδοχή', 'έγκριση', 'ναι', 'να επιτρέπεται', 'επιτρέπεται'],
    // Hebrew, Arabic, Persian, Hindi, Thai, Vietnamese, Indonesian
    ...[
      'אשר',
      'אישור',
      'אפשר',
      'כן',
      'قبول',
      'السماح',
      'سماح',
      'اسمح',
      'موافق',
      'موافقة',
      'نعم',
      'اجازه',
      'بله',
      'تأیید',
      'अनुमति',
      'हाँ',
      'हां',
    ],
    ...['स्वीकार', 'อนุญาต', 'ใช่', 'ยอมรับ', 'cho phép', 'chấp nhận', 'đồng ý', 'có', 'izinkan', 'setuju', 'terima', 'ya'],
    // Chinese, Japanese, Korean
    ...[
      '允许',
      '允許',
      '批准',
      '同意',
      '好',
      '确认',
      '確認',
      '确定',
      '確定',
      '继续',
      '繼續',
      '执行',
      '執行',
      '接受',
      '許可',
      'はい',
      '承認',
      '実行',
    ],
    ...['続行', '허용', '예', '네', '승인', '동의', '실행', '수락', '계속'],
  ],
  anywhere: [],
};

const ASKING_AGAIN =
  /^(?:don ?t|do not|never|stop) ask|^no (?:volver|preguntar|further)|^n(?:e plus|icht (?:mehr|erneut|wieder)|on chiedere|ie (?:pytaj|wieder fragen|mehr fragen))|^nao perguntar|^не спрашивать|^不再|^今後/;
const LASTING =
  /\b(?:always|don ?t ask|do not ask|never ask|no more questions|forever|permanently|from now on|immer|dauerhaft|nicht (?:mehr|erneut|wieder) fragen|toujours|ne plus demander|siempre|no volver a preguntar|sempre|non chiedere piu|nao perguntar|altijd|alltid|altid|zawsze|vzdy|mindig|her zaman|selalu)\b|总是|總是|始终|始終|永久|永远|永遠|不再询问|不再詢問|常に|今後|항상/;
const FOR_A_WHILE =
  /\b(?:for|during|throughout|rest of) (?:\w+ ){0,3}(?:session|conversation)\b|(?<!\b(?:not|don t) )\bremember\b|\byolo\b|\bfur diese sitzung\b|本次会话|本会话|整个会话|このセッション|이 세션/;
/** Names that cover more than what is asked: everything, what is alike, or what comes later. */
const WIDER =
  /\bfor (?:ever|good)\b|\beverything\b|\b(?:all|every)\b(?! (?:of )?(?:this|these|them)\b)|\bany(?:thing| (?:other )?(?:command|tool|edit|file|action|call|request|folder))|\b(?:stop|quit|no longer|without|no more) (?:ask|prompt|confirm)|\bask (?:me )?no more\b|\btrust|\bsimilar\b|\bcommands? like\b|\bsuch commands\b|\b(?:full|unrestricted|unlimited) (?:\w+ )?(?:access|control|rights|permissions?|auto)\b|\bauto(?:matic(?:ally)?)?\b|\bauto(?:accept|approve|run|allow)|\bbypass|\b(?:whenever|in (?:the )?future|later on)\b|\b(?:alles?|allen|tout(?:es)?|tous|todos?|todas|tutt[oie])\b|全部|所有|一切|信任|以后|以後|すべて|全て|모두|모든/;
/** Names that lift a protection, or hold for a time or a number of times. */
const BEYOND =
  /\b(?:until|unless|whenever)\b|\btwice\b|\brepeated|\b(?:each|next) (?:time|one|\d)|\brules?\b|\bpolic(?:y|ies)\b|\bstanding\b|\bany\b|\b(?:for|during) (?:the )?(?:next |rest |whole |entire |an? |one |few |some |several )+(?:of )?(?:the )?(?:minutes?|hours?|days?|weeks?|months?|turns?|tasks?|while)\b|\b(?:for )?(?:today|tonight)\b|\b(?:without|outside|out of|no|disable|skip|leave) (?:of )?(?:an? |the |any )?(?:sandbox|isolation|container|restrictions?|limits?|checks?|protection|safety)|\bunsandboxed\b|\bas (?:root|(?:an? |the )?admin\w*|superuser|sudo)\b|\bsudo\b|\belevated?\b|\bescalat|\bwith (?:\w+ ){0,3}(?:network|internet|root|admin\w*|disk|access|rights|permissions?|privileges?)\b|\b(?:allow|white) ?list|\bsandbox (?:off|disabled)\b/;
/** Numbers are read apart: in letters that look alike they are letters. */
const COUNTED =
  /\bnext \d|(?:\b\d+ ?|(?:two|three|four|five|ten|several|few|many|next|more) )(?:x\b|times|seconds?\b|sec\b|min(?:ute)?s?\b|hours?\b|hrs?\b|h\b|days?\b|weeks?\b|months?\b|commands?\b|calls?\b|edits?\b|requests?\b|turns?\b|tasks?\b)|[×x] ?\d|\d+ ?(?:次|回|分|小时|小時|天|日|時間|번|시간)/;
/** Where or with what it holds beyond what is asked; of a name that says yes. */
const SCOPE =
  /\b(?:sessions?|sitzung|sesion|sessione|sessie|sesji|sesje|sesja|seance|conversation|chat|project|projekt|proyecto|progetto|workspace|repo(?:sitory)?|globally|global|everywhere|anywhere|indefinitely|henceforth|hereafter|till|through|mode|sandbox|host|thrice|both|commands|edits|files|tools|calls|requests|changes|duration|permanent|persist|allowlist|hours?|stunden?|heures?|horas?|ore)\b(?<!\b(?:these|this|the) (?:commands|edits|files|tools|calls|requests|changes))|сеанс|сесси|会话|项目|工作区|沙箱|セッション|세션/;
/** A pattern that covers more than one command: `npm:*`. */
const PATTERN = /[\w:/. -]\*(?!\*)(?![\w])/;
/** Words behind which a name says something besides the allowance. */
const ADDS = /\b(?:and|plus|also|with|without|including|then|as well|as|for)\b(?! (?:this|these|that|it|once|me|now)\b)(?= ?\S)/;
/** A no behind a yes, or more behind a sign: "Allow? No", "Allow & push". */
const TAKES_BACK = /(?<!^)\b(?:no|nothing|none|never|not)\b(?! (?:problem|remember|longer))|[&+]/;
/** The user stays in charge of what these words name: "Yes, ask before each edit". */
const LOOKED_AT_BY_USER = /\b(?:ask(?: me)? (?:before|for|about|first)|manual(?:ly)?|review)\b.*/;
const ALWAYS_IN_SKELETON = [...['всегда', 'больше не спрашивать', 'завжди', 'πάντα', 'תמיד', 'دائما', 'हमेशा', 'เสมอ', 'luôn']].map(
  skeleton,
);
const ONLY_ONCE = /\bonce\b|\bonly this\b|\bthis time\b|\beinmal\b|\bune fois\b|\buna vez\b|\buna volta\b|\beenmalig\b|一次|今回|한 번/;
const REFUSING_SIGN = /^[\s\p{P}]{0,8}[❌✖✗✘✕❎🚫⛔🛑👎🙅⊗⛒]/u;
const ALLOWING_SIGN = /^[\s\p{P}]{0,8}[✓✔✅👍👌🙆💯☑🆗]/u;
const WITHOUT_BLANKS = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}]/u;

/** It is not refused, or is done nevertheless: "Do not reject", "No, but run it anyway". */
const NOT_REFUSED =
  /\b(?:do not|don ?t|never|not|nicht|ne pas) (?:reject|den(?:y|ied)|declin|refus|cancel|block|ablehn|rejeter)|不要?拒[绝絕]|\banyway\b|\bregardless\b|\bnonetheless\b|\bwithout (?:asking|confirm|prompt)|(?:[,;:.!?]|\b(?:but|and)) ?(?:run|execute|apply) (?:it|this|that)\b/;
/** A yes behind a no: "Reject this, allow all others". */
const ALLOWS_THE_REST =
  /(?:[,;:.!?()&+/–—-]|\b(?:and|but|then|while|und|aber|et|mais|y|pero|e)\b) ?(?:(?:then|also|always|but|and) )*(?:allow|approve|accept|grant|permit|authori[sz]e|trust|erlauben?|autoriser|permitir|aceptar)\b(?! (?:me|us|nothing|none|no)\b)|\b(?:run|execute|apply|do|allow|approve|accept)\b[^,;.]{0,20}\b(?:rest|others?|everything else|all else)\b|\b(?:rest|others?|else|everything|anderen?|ubrigen)\b[^,;.]{0,20}\b(?:allow(?:ed)?|approved?|accept(?:ed)?|permitted|run|fine|ok|erlauben|zulassen)\b|(?:并|並|但|其余|其餘|其他|其它|全部|之后|以后|[,，;；、]).{0,6}(?<!不)(?:允许|允許|批准|同意|接受)/;

interface ListedWord {
  readonly looks: string;
  /** The word must end here. A long word may have any ending, and words of scripts without blanks have none. */
  readonly isWhole: boolean;
}

/** Whether a name begins with one of the words, or has one of them anywhere: also within a run of letters in scripts without blanks. */
function readerOf({ first, anywhere }: Words): (name: string) => boolean {
  // As a regular expression, hundreds of words take 10 ms to compile when the first question comes.
  const listed = (word: string): ListedWord => ({ looks: skeleton(word), isWhole: !WITHOUT_BLANKS.test(word) && word.length <= 4 });
  const [beginnings, others] = [first.map(listed), anywhere.map(listed)];
  return (name) => beginnings.some((word) => isAt(name, word, 0)) || others.some((word) => isAnywhere(name, word));
}
function isAt(name: string, { looks, isWhole }: ListedWord, at: number): boolean {
  const end = at + looks.length;
  return name.startsWith(looks, at) && !(isWhole && /^[\p{L}\p{N}]/u.test(name.slice(end, end + 2)));
}
function isAnywhere(name: string, word: ListedWord): boolean {
  const isFree = WITHOUT_BLANKS.test(word.looks.slice(0, 2));
  for (let at = name.indexOf(word.looks); at >= 0; at = name.indexOf(word.looks, at + 1))
    if ((isFree || !/\p{L}$/u.test(name.slice(Math.max(0, at - 2), at))) && isAt(name, word, at)) return true;
  return false;
}
const refusesIn = readerOf(REFUSING);
const allowsIn = readerOf(ALLOWING);

/** Words that carry out what is asked, though no sentence of assent begins with them: such a name is clear for an answer that allows. */
const CARRYING_OUT =
  /^(?:go|open|write|save|submit|send|start|begin|let|use|try|do|this|only|one|single|good|fine|sounds|looks|perform|make|install|call|ship|restore|put|create|edit|delete|move|change|replace|update|fetch|read)\b|^(?:打开|開啟|运行|運行|写入|保存|发送|提交|开始|还原|恢复)/;

/** The meaning of an answer's name. */
export interface AnswerSays {
  readonly refuses: boolean;
  readonly allows: boolean;
  /** Behind a no, it allows something else, or what was asked after all. */
  readonly allowsTheRest: boolean;
  /** It holds for later, too. */
  readonly lasts: boolean;
  readonly once: boolean;
  /** It has no word that is known for what an answer that allows does, or says something besides. */
  readonly unclear: boolean;
  /** A word mixes letters of scripts that look alike, which no language does, or the name has characters that mislead or is too long to be read. */
  readonly forged: boolean;
}

const known = new WeakMap<Pick<Option, 'id' | 'label'>, AnswerSays>();

/** Read once for each option: every surface asks for it. */
export function answerSays(option: Pick<Option, 'id' | 'label'>): AnswerSays {
  const before = known.get(option) ?? read(option.label || option.id);
  known.set(option, before);
  return before;
}

function read(name: string): AnswerSays {
  const seen = name
    .slice(0, LONGEST_NAME)
    .replace(HIDDEN, '')
    .replaceAll('_', ' ')
    .replace(/(?<=\p{Ll})(?=\p{Lu})/gu, ' ');
  // Numbers and signs in front do not belong to its letters.
  const whole = skeleton(seen.normalize('NFKC').replace(/^[^\p{L}]+/u, ''));
  const words = whole
    .replace(/[’'`´]/g, ' ')
    .replace(/^[^\p{L}]+/u, '')
    .replace(/\s+/g, ' ')
    .replace(/^(?:(?:please|just|bitte|por favor|请|請) ?)+/u, '');
  const bare = words.replace(/^(?:i|we|you) (?=(?:do|don|will|would|can) )/, '');
  const allows = /^(?:是|go|y\P{L}*)$/u.test(bare) || (allowsIn(bare) && !/^continue without/.test(bare)) || ALLOWING_SIGN.test(seen);
  const once = ONLY_ONCE.test(words);
  const beyond = words.replace(LOOKED_AT_BY_USER, '');
  // A number in front is the answer's own.
  const counted = seen
    .normalize('NFKC')
    .toLowerCase()
    .replace(/^[^\p{L}]+/u, '');
  return {
    refuses: /^n\P{L}*$/u.test(bare) || (refusesIn(bare) && !ASKING_AGAIN.test(bare)) || REFUSING_SIGN.test(seen),
    allows,
    allowsTheRest: ALLOWS_THE_REST.test(words) || NOT_REFUSED.test(words),
    lasts:
      LASTING.test(words) ||
      FOR_A_WHILE.test(words) ||
      WIDER.test(beyond) ||
      BEYOND.test(beyond) ||
      COUNTED.test(counted) ||
      PATTERN.test(counted) ||
      (allows && SCOPE.test(beyond)) ||
      ALWAYS_IN_SKELETON.some((one) => words.includes(one)),
    once,
    unclear: (!allows && !once && !CARRYING_OUT.test(bare)) || ADDS.test(beyond) || (allows && TAKES_BACK.test(beyond)),
    forged: name.length > LONGEST_NAME || firstInText(name) !== undefined || isForged(seen),
  };
}

function isForged(name: string): boolean {
  const words =
    name
      .replaceAll('µ', '')
      .normalize('NFKC')
      .match(/[\p{L}\p{M}]+/gu) ?? [];
  return (
    words.some((word) => /\p{Script=Latin}/u.test(word) && ALIKE.test(word)) ||
    /[\p{Script=Cherokee}\p{Script=Lisu}\p{Script=Coptic}]/u.test(name)
  );
}
const ALIKE =
  /[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}\p{Script=Georgian}\p{Script=Cherokee}\p{Script=Coptic}\p{Script=Lisu}]/u;
