// braindex for pi: recall before an agent starts, record when it has ended. Lies in ~/.pi/agent/extensions/ or in
// .pi/extensions/ of a project. A hook that fails is as if it were not there.
import { spawn } from "node:child_process";
import type { ExtensionAPI, ExtensionContext } from "@earendil-works/pi-coding-agent";

const COMMAND = process.env.BRAINDEX_COMMAND ?? "braindex";
const PATIENCE = 1500; // milliseconds

function hook(event: string, given: object): Promise<any> {
  return new Promise((resolve) => {
    let said = "";
    const nothing = () => resolve({});
    const child = spawn(COMMAND, ["hook", "pi", event], { stdio: ["pipe", "pipe", "ignore"] });
    const watch = setTimeout(() => { child.kill(); nothing(); }, PATIENCE);
    child.on("error", nothing);
    child.stdin.on("error", nothing);
    child.stdout.on("data", (data) => { said += data; });
    child.on("close", () => {
      clearTimeout(watch);
      try { resolve(JSON.parse(said)); } catch { nothing(); }
    });
    child.stdin.end(JSON.stringify(given));
  });
}

function where(ctx: ExtensionContext): object {
  return { sessionId: ctx.sessionManager.getSessionId(), cwd: ctx.sessionManager.getCwd() };
}

function lastText(messages: any[]): string {
  for (const one of [...messages].reverse()) {
    if (one.role !== "assistant") continue;
    const text = one.content.filter((part: any) => part.type === "text").map((part: any) => part.text).join("\n");
    if (text.trim()) return text;
  }
  return "";
}

export default function (pi: ExtensionAPI) {
  pi.on("before_agent_start", async (event, ctx) => {
    const answer = await hook("before_agent_start", { ...where(ctx), prompt: event.prompt });
    return answer.message ? { message: answer.message } : undefined;
  });
  pi.on("agent_end", async (event, ctx) => {
    await hook("agent_end", { ...where(ctx), response: lastText(event.messages) });
  });
}
