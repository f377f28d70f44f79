// Package fakeprovider is a paid generation provider and a content checker that cost nothing: a real HTTP server on this
// machine, whose every failure is scripted. With it users and tests play what can go wrong between a worker and a provider:
// timeouts before and after the work was accepted, late and lost answers, doubled callbacks, refusals, checks that never come back.
//
// A POST of a key goes through these stations. A script says at which of them the sender loses sight of it:
//
//	POST ──┬── *_before: nothing accepted, nothing billed
//	       ├── refuse: a valid no
//	       └── accepted, billed ──┬── answer: 202 and the task id
//	                              ├── *_after, no_task_id, garbage: the sender learns nothing
//	                              └── task: 404 at first ── pending ──┬── succeeded ──┬── callbacks: none, one, many
//	                                                                  └── failed    ──┘
//
// What *_ stands for: error is 503, cut closes the connection, hang never answers, hold answers after a release. All of it is
// deterministic: no random, no sleep, task ids made of keys, time from an injectable [Clock]. Everything is bounded and kept
// in memory only.
//
// # The provider over HTTP
//
// Suppose that it listens on 127.0.0.1:8089. The request key travels in the header Idempotency-Key. The same key again names the
// same task until the idempotency window is over, and is billed once; a window of 0 makes every POST new work.
//
//	curl -X POST http://127.0.0.1:8089/v1/generations -H 'Idempotency-Key: K1' -d '{"input": "a cat"}'
//	curl http://127.0.0.1:8089/v1/generations/TASK_ID
//	curl 'http://127.0.0.1:8089/v1/generations?key=K1'
//	curl -X POST http://127.0.0.1:8089/v1/checks -H 'Idempotency-Key: C1' -d '{"stage": "INPUT", "content": "a cat"}'
//	curl http://127.0.0.1:8089/v1/usage
//	curl 'http://127.0.0.1:8089/v1/usage?format=csv'
//
// What they answer; a cost that is absent is unknown, and every cost is in micros of its currency:
//
//   - a generation: 202 {"task_id", "request_key", "status": "pending"}
//   - a status, and a look-up, which finds the newest task of a key: 200 {"task_id", "request_key", "status", "code", "cost_micros",
//     "currency"}, or 404; the status is pending, succeeded or failed, and only a failed task has a code
//   - a callback, posted to the generation's "callback_url", an http URL of this machine: the same and "callback_id"
//   - a check: 200 {"request_key", "verdict", "categories", "cost_micros", "currency"}; the verdict is pass or reject
//   - the statement, a line for each charge: request_key, provider_task_id (of a generation), cost_micros (JSON) or cost (CSV), currency
//   - an error: {"error": {"code", "message"}}, and in a refusal also cost_micros and currency
//
// # Scripts and controls
//
// A script belongs to a key, or without ?key= to every key that has none. Its answers go to the 1st, 2nd, … POST of the key;
// the last one repeats. [GenerationScript] and [CheckScript] list every field, [Answer] every answer.
//
// Accepted and billed, but the answer is lost; the resend of the key gets the task; the first two look-ups don't find it:
//
//	curl -X PUT 'http://127.0.0.1:8089/control/generations?key=K2' -d '{"answers": ["cut_after", "answer"], "not_found_polls": 2, "cost_micros": 90}'
//
// A refusal that costs nothing; a task that fails after two polls and is billed all the same; one that runs until it is finished,
// and then calls back twice:
//
//	curl -X PUT 'http://127.0.0.1:8089/control/generations?key=K3' -d '{"answers": ["refuse"], "refusal": {"status": 422, "code": "content_policy"}}'
//	curl -X PUT 'http://127.0.0.1:8089/control/generations?key=K4' -d '{"end": "failed", "pending_polls": 2, "cost_micros": 37}'
//	curl -X PUT 'http://127.0.0.1:8089/control/generations?key=K1' -d '{"end": "pending", "callbacks": 2}'
//
// A check that times out, one that breaks, one that rejects:
//
//	curl -X PUT 'http://127.0.0.1:8089/control/checks?key=C1' -d '{"answers": ["hang_after"]}'
//	curl -X PUT 'http://127.0.0.1:8089/control/checks?key=C2' -d '{"answers": ["error_before", "garbage"]}'
//	curl -X PUT 'http://127.0.0.1:8089/control/checks?key=C3' -d '{"categories": ["violence"]}'
//
// Release what is held (what hangs is cut), finish a pending task, deliver one more callback (a status that is not the task's makes
// it lie), read the counters of a key and of all, forget everything:
//
//	curl -X POST 'http://127.0.0.1:8089/control/release?key=K1'
//	curl -X POST 'http://127.0.0.1:8089/control/finish?key=K1&status=succeeded'
//	curl -X POST 'http://127.0.0.1:8089/control/callback?key=K1&status=failed'
//	curl 'http://127.0.0.1:8089/control/counters?key=K1'
//	curl http://127.0.0.1:8089/control/counters
//	curl -X POST http://127.0.0.1:8089/control/reset
//
// # In Go
//
// [Start] runs a server in this process, and its methods do what the controls do; [Server.Await] waits for a counter instead of
// sleeping. [Client] is the worker's side: it sends each paid POST at most once and returns facts that a worker can report.
package fakeprovider
