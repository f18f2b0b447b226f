import { globTool } from './glob.ts';
import { grepTool } from './grep.ts';
import { listDirectoryTool } from './listDirectory.ts';
import { readFileTool } from './readFile.ts';
import { setTodoListTool } from './setTodoList.ts';
import { shellTool } from './shell.ts';
import { strReplaceFileTool } from './strReplaceFile.ts';
import type { Tool } from './tool.ts';
import { writeFileTool } from './writeFile.ts';

/** The agent's own tools. A client's tool of one of these names is refused. */
export const builtInTools: readonly Tool[] = [
  readFileTool,
  listDirectoryTool,
  globTool,
  grepTool,
  writeFileTool,
  strReplaceFileTool,
  shellTool,
  setTodoListTool,
];
