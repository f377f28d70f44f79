package ledgerdb

var jobInvariants = []Invariant{
	{
		"a_manifest_is_what_was_approved", "The targets of a job are those that its hash was made of.", `
		SELECT j.job_id, j.total || ' targets, ' || j.manifest_hash,
			t.total || ' targets, ' || encode(sha256(convert_to(
				E'settlementd manifest 1\n' || j.tenant_id || ' ' || j.job_id || ' ' || j.action || ' ' || j.chunk_size || E' allow_partial\n'
					|| coalesce(t.lines, ''), 'UTF8')), 'hex')
		FROM jobs j
		CROSS JOIN LATERAL (
			SELECT count(*) AS total,
				string_agg(reservation_id || ' ' || revision || ' ' || taken_unit || ' ' || taken_amount || E'\n', '' ORDER BY ordinal) AS lines
			FROM job_targets WHERE tenant_id = $1 AND job_id = j.job_id
		) t
		WHERE j.tenant_id = $1`,
	},
	{
		"targets_are_in_the_order_of_their_ids", "The targets of a job are numbered from 0, in the order of their ids.", `
		SELECT job_id || ' ' || reservation_id, row_number() OVER (PARTITION BY job_id ORDER BY reservation_id) - 1, ordinal
		FROM job_targets WHERE tenant_id = $1`,
	},
	{
		"progress_stops_between_chunks", "What is done of a job is a number of whole chunks, or everything.", `
		SELECT job_id,
			CASE WHEN next_index >= total THEN total WHEN next_index < 0 THEN 0 ELSE next_index - next_index % chunk_size END, next_index
		FROM jobs WHERE tenant_id = $1`,
	},
	{
		"only_approved_jobs_run", "A job that has done something was approved before.", `
		SELECT job_id, 'approved', CASE WHEN approved_at <= progressed_at THEN 'approved' WHEN approved_at IS NULL THEN 'not approved' ELSE 'approved later' END
		FROM jobs WHERE tenant_id = $1 AND next_index > 0`,
	},
	{
		"an_audit_is_the_beginning_of_its_manifest", "The audit of a job is its targets up to next_index, each changed by one revision.", `
		SELECT coalesce(t.job_id, a.job_id) || ' ' || coalesce(t.ordinal, a.ordinal),
			CASE WHEN t.ordinal < t.next_index
				THEN format('%s from %s to %s, %s %s', t.reservation_id, t.revision, t.revision + 1, t.taken_amount, t.taken_unit) END,
			CASE WHEN a.ordinal IS NOT NULL
				THEN format('%s from %s to %s, %s %s', a.reservation_id, a.previous_revision, a.new_revision, a.taken_amount, a.taken_unit) END
		FROM (SELECT t.*, j.next_index FROM job_targets t JOIN jobs j USING (tenant_id, job_id) WHERE tenant_id = $1) t
		FULL JOIN (SELECT * FROM job_audit WHERE tenant_id = $1) a USING (job_id, ordinal)`,
	},
	{
		"an_audit_is_in_the_ledger", "Each change in a job's audit has its event, and each event that names a job is in that job's audit.", `
		SELECT coalesce(e.reservation_id, a.reservation_id),
			CASE WHEN a.job_id IS NOT NULL THEN format('%s by %s at revision %s', a.end_of, a.job_id, a.new_revision) END,
			CASE WHEN e.job_id IS NOT NULL THEN format('%s by %s at revision %s', e.event_type, e.job_id, e.revision) END
		FROM (
			SELECT a.reservation_id, a.job_id, a.new_revision,
				CASE j.action WHEN 'CANCEL' THEN 'CANCELLED' ELSE 'MODERATION_UNAVAILABLE' END AS end_of
			FROM job_audit a JOIN jobs j USING (tenant_id, job_id) WHERE tenant_id = $1
		) a
		FULL JOIN (
			SELECT reservation_id, detail ->> 'job_id' AS job_id, revision, event_type FROM entries WHERE tenant_id = $1 AND detail ? 'job_id'
		) e USING (reservation_id, job_id)`,
	},
}
