// Wellkept's plugin for OpenCode: tells the hook process what happens and passes on what it answers.
// Written by `wellkept install opencode`, taken away by `wellkept uninstall opencode`.
// Nothing here may throw or wait for long: whatever goes wrong, OpenCode goes on without memory.
import { spawn } from "node:child_process"

const COMMAND = __WELLKEPT_COMMAND__
const LIMIT_MS = 2500
const MAX_KEPT = 200

// Starts the hook process for one event and resolves to what it answers, "" if nothing.
const tell = (event, mode, payload) =>
  new Promise((resolve) => {
    try {
      const [program, ...rest] = COMMAND
      const child = spawn(program, [...rest, "opencode", event, mode], {
        stdio: ["pipe", "pipe", "ignore"],
        windowsHide: true,
      })
      const chunks = []
      const timer = setTimeout(() => child.kill("SIGKILL"), LIMIT_MS)
      const end = (text) => {
        clearTimeout(timer)
        resolve(text)
      }
      child.on("error", () => end(""))
      child.on("close", () => end(Buffer.concat(chunks).toString("utf8").trim()))
      child.stdout.on("data", (chunk) => chunks.push(chunk))
      child.stdin.on("error", () => {})
      child.stdin.end(JSON.stringify({ ...payload, hook_event_name: event }))
    } catch {
      resolve("")
    }
  })

// Forgets the oldest entry, so that a long-lived server does not grow without end.
const keep = (map, key, value) => {
  map.delete(key)
  map.set(key, value)
  if (map.size > MAX_KEPT) map.delete(map.keys().next().value)
}

// What the person wrote; synthetic parts are files and reminders that OpenCode adds.
const wordsOf = (parts) =>
  parts
    .filter((part) => part.type === "text" && !part.synthetic)
    .map((part) => part.text)
    .join("\n")

export const Wellkept = async ({ directory }) => {
  // Inside an OpenCode that Wellkept itself asks as a model: see nothing, say nothing.
  if (process.env.WELLKEPT_SELF) return {}
  const started = new Map() // session -> what was answered to its start
  const prompted = new Map() // session -> what was answered to its last prompt
  const parents = new Map() // a sub-agent's session -> the session that started it
  const agents = new Map() // a sub-agent's session -> its kind
  const said = new Map() // session -> the assistant's last words
  const assistants = new Map() // the assistant's messages
  const told = new Map() // calls that were told of

  // What every payload begins with; a sub-agent's events belong to the session above it.
  const about = (session, more) => {
    let root = session
    for (let depth = 0; depth < 10 && parents.has(root); depth++) root = parents.get(root)
    const inside = root !== session
    const agent = inside ? { agent_id: session, agent_type: agents.get(session) ?? "subagent" } : {}
    return { session_id: root, cwd: directory, ...agent, ...more }
  }

  const begin = async (session, source, model) => {
    const event = parents.has(session) ? "SubagentStart" : "SessionStart"
    keep(started, session, "")
    keep(started, session, await tell(event, "both", about(session, { source, model })))
  }

  const onFailure = async ({ sessionID, callID, tool, state }) => {
    keep(told, callID, true)
    const { start, end } = state.time ?? {}
    const call = { tool_name: tool, tool_input: state.input, tool_use_id: callID }
    const more = { ...call, error: state.error, duration_ms: end - start }
    await tell("PostToolUseFailure", "capture", about(sessionID, more))
  }

  const onEvent = {
    "session.created": async ({ info }) => {
      if (info.parentID) keep(parents, info.id, info.parentID)
    },
    "session.idle": async ({ sessionID }) => {
      const event = parents.has(sessionID) ? "SubagentStop" : "Stop"
      const last_assistant_message = said.get(sessionID)
      said.delete(sessionID)
      await tell(event, "capture", about(sessionID, { last_assistant_message }))
    },
    "session.compacted": async ({ sessionID }) => {
      await tell("PostCompact", "capture", about(sessionID, { trigger: "auto" }))
      await begin(sessionID, "compact")
    },
    "session.deleted": async ({ info }) => {
      if (parents.has(info.id)) return
      await tell("SessionEnd", "capture", about(info.id, { reason: "deleted" }))
    },
    "message.updated": async ({ info }) => {
      if (info.role === "assistant") keep(assistants, info.id, true)
    },
    "message.part.updated": async ({ part }) => {
      if (part.type === "text" && assistants.has(part.messageID)) {
        keep(said, part.sessionID, part.text)
      }
      const failed = part.type === "tool" && part.state?.status === "error"
      if (failed && !told.has(part.callID)) await onFailure(part)
    },
  }

  const safely =
    (callback) =>
    async (...given) => {
      try {
        await callback(...given)
      } catch {
        // Something of another shape: there is nothing to tell, and nobody to bother.
      }
    }

  return {
    event: safely(async ({ event }) => onEvent[event.type]?.(event.properties)),
    "chat.message": safely(async ({ sessionID, agent }, { message, parts }) => {
      const sub = parents.has(sessionID)
      if (sub) keep(agents, sessionID, agent ?? message.agent)
      if (!started.has(sessionID)) await begin(sessionID, "startup", message.model?.modelID)
      if (sub) return
      const payload = about(sessionID, { prompt: wordsOf(parts) })
      keep(prompted, sessionID, await tell("UserPromptSubmit", "both", payload))
    }),
    "tool.execute.after": safely(async ({ sessionID, callID, tool, args }, output) => {
      keep(told, callID, true)
      const call = { tool_name: tool, tool_input: args, tool_use_id: callID }
      const came = { tool_response: output.output, exit_code: output.metadata?.exit }
      const answer = await tell("PostToolUse", "both", about(sessionID, { ...call, ...came }))
      if (answer && typeof output.output === "string") output.output += "\n\n" + answer
    }),
    "experimental.chat.system.transform": safely(async ({ sessionID }, { system }) => {
      for (const kept of [started, prompted]) {
        const answer = kept.get(sessionID)
        if (answer) system.push(answer)
      }
    }),
  }
}
