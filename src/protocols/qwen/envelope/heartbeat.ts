export function heartbeat(session: string): object {
  return { type: 'heartbeat_request', session_id: session };
}
