// Package lane lets concurrent calls of one tenant share transactions.
//
// A call joins its tenant's queue. While one batch is on its way to the database, the next one collects; no timer is involved, so a
// call alone starts at once and is a batch of one. Another batch starts beside it once it is full:
//
//	Do ──► queue ──► [load ──► decide each ──► save + COMMIT] ──► answer each
//	         ▲                     │
//	         │                     └─ its account is locked by somebody else: to the queue of that account, which waits for the lock
//	         └─ collects meanwhile
//
// A batch fails as a whole only when the database does. Otherwise the culprit is found and answered alone:
//
//	the batch shared its provider,      it is done again with providers and budgets locked, and so are the tenant's next ones; what
//	and failed or found no room         follows is of such batches
//	load meets a locked account         the calls on it go to a lane of their own, which waits once; the others go on
//	load meets an account of another    its calls come again, twice at most
//	batch of the tenant
//	load meets a locked provider        its calls are answered as unavailable, the others go on
//	a row appears during such a wait    its call looks again: without that row it would be judged by half of what happened
//	save fails on data or a lost race   the batch is halved until the culprit is alone; alone, it is tried three times
//	the connection fails                the whole batch is tried again, three times at most
//	the answer to COMMIT is lost        its status tells when it is over, and its rows whether it stands; it is never sent twice
//
// Lanes come and go with their work. A bounded number of them are in the database at a time, first come, first served, so that a
// tenant with much to do cannot starve another; those that wait for locks are half of them at most.
package lane
