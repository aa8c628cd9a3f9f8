// The official SDK's client, led by a test: a command a line on stdin, what comes of it a line on stdout.

import { createInterface } from "node:readline";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { join } from "node:path";

const sdk = createRequire(join(process.env.VECTOR_MCP_SDK, "package.json"));
const load = (name) => import(pathToFileURL(sdk.resolve(`@modelcontextprotocol/sdk/${name}`)).href);
const { Client } = await load("client/index.js");
const { StdioClientTransport } = await load("client/stdio.js");
const { StreamableHTTPClientTransport } = await load("client/streamableHttp.js");
const { ElicitRequestSchema, CallToolResultSchema, ResourceListChangedNotificationSchema } = await load("types.js");

const say = (said) => process.stdout.write(JSON.stringify(said) + "\n");
const calls = new Map();
let client;
let transport;

async function connect({ stdio, http, elicits }) {
	const capabilities = elicits ? { elicitation: {} } : {};
	client = new Client({ name: "a test", version: "1.0.0" }, { capabilities });
	if (elicits) {
		client.setRequestHandler(ElicitRequestSchema, (request) => {
			say({ event: "elicit", message: request.params.message });
			return { action: "accept", content: {} };
		});
	}
	client.setNotificationHandler(ResourceListChangedNotificationSchema, () => say({ event: "resources_changed" }));
	transport = stdio
		? new StdioClientTransport({ ...stdio, stderr: "inherit" })
		: new StreamableHTTPClientTransport(new URL(http.url), {
				requestInit: { headers: { Authorization: `Bearer ${http.token}` } },
			});
	await client.connect(transport);
	return {
		server: client.getServerVersion(),
		capabilities: client.getServerCapabilities(),
		instructions: client.getInstructions(),
	};
}

async function call({ id, name, args, timeout }) {
	const aborts = new AbortController();
	calls.set(id, aborts);
	const onprogress = (progress) => say({ event: "progress", call: id, ...progress });
	const options = { signal: aborts.signal, timeout: timeout ?? 100_000, onprogress };
	return client.callTool({ name, arguments: args }, CallToolResultSchema, options);
}

const does = {
	connect,
	call,
	cancel: async ({ call }) => calls.get(call).abort("no longer wanted"),
	tools: () => client.listTools(),
	resources: ({ cursor }) => client.listResources({ cursor }),
	templates: () => client.listResourceTemplates(),
	read: ({ uri }) => client.readResource({ uri }),
	prompts: () => client.listPrompts(),
	prompt: ({ name, args }) => client.getPrompt({ name, arguments: args }),
	ping: () => client.ping(),
	end: () => transport.terminateSession?.() ?? {},
	close: () => client.close(),
};

for await (const line of createInterface({ input: process.stdin })) {
	const command = JSON.parse(line);
	// What takes long must not keep the next command waiting.
	Promise.resolve()
		.then(() => does[command.do](command))
		.then((ok) => say({ id: command.id, ok: ok ?? {} }))
		.catch((error) => say({ id: command.id, error: String(error?.message ?? error) }));
}
await client?.close().catch(() => {});
process.exit(0);
