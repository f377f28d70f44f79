package ledgerdb

var journalInvariants = []Invariant{
	{
		"open_states_follow_the_journal", "The state of an open reservation is a function of its generation lines.", `
		SELECT r.reservation_id,
			CASE WHEN l.knowledge IS NULL THEN 'PENDING' WHEN l.knowledge = 'UNCERTAIN' THEN 'UNCERTAIN' ELSE 'PROCESSING' END,
			r.state
		FROM all_reservations r
		LEFT JOIN (
			SELECT reservation_id, min(knowledge) AS knowledge FROM lines
			WHERE tenant_id = $1 AND kind = 'GENERATION' AND knowledge = ANY ('{PERMITTED,UNCERTAIN,ACCEPTED,SUCCEEDED}')
			GROUP BY reservation_id
		) l USING (reservation_id)
		WHERE r.tenant_id = $1 AND r.outcome_kind IS NULL`,
	},
	{
		"one_request_at_a_time", "A reservation has at most one generation that is unresolved or succeeded, and one unresolved check a stage.", `
		SELECT reservation_id || ' ' || kind || coalesce(' ' || stage, ''), 1, count(*)
		FROM lines
		WHERE tenant_id = $1 AND (knowledge = ANY ('{PERMITTED,UNCERTAIN,ACCEPTED}') OR kind = 'GENERATION' AND knowledge = 'SUCCEEDED')
		GROUP BY reservation_id, kind, stage`,
	},
	{
		"attempts_follow_one_another", "The attempts of a reservation, kind and stage are numbered from 1 on, and only the last can be unresolved.", `
		SELECT reservation_id || ' ' || kind || coalesce(' ' || stage, ''), '1..' || count(*) || ', at most the last unresolved',
			min(attempt) || '..' || max(attempt) || CASE
				WHEN bool_or(knowledge = ANY ('{PERMITTED,UNCERTAIN,ACCEPTED}') AND next IS NOT NULL) THEN ', another one unresolved'
				ELSE ', at most the last unresolved' END
		FROM (SELECT *, lead(attempt) OVER (PARTITION BY reservation_id, kind, stage ORDER BY attempt) AS next FROM lines WHERE tenant_id = $1) l
		GROUP BY reservation_id, kind, stage`,
	},
	{
		"lines_match_their_reservation", "A line was sent to its reservation's provider.", `
		SELECT l.request_key, r.provider_id, l.provider_id
		FROM lines l LEFT JOIN all_reservations r ON r.tenant_id = $1 AND r.reservation_id = l.reservation_id
		WHERE l.tenant_id = $1`,
	},
	{
		"a_granted_key_is_in_the_journal", "A key that came with a reservation has its line.", `
		SELECT r.reservation_id, r.submission_key, l.request_key
		FROM all_reservations r
		LEFT JOIN lines l ON l.tenant_id = $1 AND l.request_key = r.submission_key AND l.reservation_id = r.reservation_id
		WHERE r.tenant_id = $1 AND r.submission_key IS NOT NULL`,
	},
	{
		"what_never_arrived_costs_nothing", "A line that was not sent, or not received, costs 0.", `
		SELECT request_key, 0, cost_micros FROM lines WHERE tenant_id = $1 AND knowledge = ANY ('{NOT_SENT,NOT_RECEIVED}')`,
	},
	{
		"a_task_belongs_to_one_line", "A provider's task id stands on one line.", `
		SELECT provider_id || ' ' || provider_task_id, 1, count(*)
		FROM lines WHERE tenant_id = $1 AND provider_task_id IS NOT NULL GROUP BY provider_id, provider_task_id`,
	},
	{
		"adjustments_match_their_entries", "What operators added to the cost of a line is what its adjusting entries say.", `
		SELECT l.request_key, coalesce(e.adjusted, 0), l.cost_adjustment_micros
		FROM lines l
		LEFT JOIN (
			SELECT reservation_id, detail ->> 'request_key' AS request_key, sum(budget_spent_change) AS adjusted
			FROM entries WHERE tenant_id = $1 AND event_type = 'ADJUSTED' GROUP BY 1, 2
		) e USING (reservation_id, request_key)
		WHERE l.tenant_id = $1`,
	},
	{
		"an_applied_exception_has_one_entry", "An exception that was applied has one entry that says so, any other has none.", `
		SELECT coalesce(x.exception_id, e.exception_id),
			CASE WHEN x.resolution = 'APPLIED' THEN 1 ELSE 0 END, coalesce(e.entries, 0)
		FROM (SELECT exception_id, resolution FROM exceptions WHERE tenant_id = $1) x
		FULL JOIN (
			SELECT detail ->> 'exception_id' AS exception_id, count(*) AS entries
			FROM entries WHERE tenant_id = $1 AND detail ? 'exception_id' GROUP BY 1
		) e USING (exception_id)`,
	},
}

// The guards are the same for all tenants. They are looked at by name in the schema that the statements themselves use.
var guardInvariants = []Invariant{
	{
		"guards_are_on", "The triggers that refuse what never changes are there and enabled.", `
		SELECT g.table_name || ' ' || g.trigger_name, 'on', coalesce(CASE WHEN t.tgenabled = ANY ('{O,A}') THEN 'on' ELSE 'off' END, 'missing')
		FROM (VALUES
			('tenants', 'tenants_are_never_deleted'), ('tenants', 'tenants_never_change'),
			('accounts', 'accounts_are_never_deleted'), ('accounts', 'account_identity_never_changes'),
			('providers', 'providers_are_never_deleted'), ('providers', 'provider_identity_never_changes'),
			('budgets', 'budgets_are_never_deleted'), ('budgets', 'budget_identity_never_changes'),
			('reservations', 'reservations_are_never_truncated'), ('reservations', 'only_archived_reservations_are_deleted'),
			('reservations', 'reservation_stamp_never_changes'), ('reservations', 'reservation_outcome_is_for_ever'),
			('archived_reservations', 'archived_reservations_are_never_deleted'), ('archived_reservations', 'archived_reservations_have_left'),
			('archived_reservations', 'archived_reservation_stamp_never_changes'),
			('archived_reservations', 'archived_reservation_outcome_is_for_ever'),
			('lines', 'lines_are_never_deleted'), ('lines', 'line_identity_never_changes'), ('lines', 'knowledge_only_grows'),
			('entries', 'entries_are_only_added'),
			('exceptions', 'exceptions_are_never_deleted'), ('exceptions', 'exception_identity_never_changes'), ('exceptions', 'resolution_is_for_ever'),
			('jobs', 'jobs_are_never_deleted'), ('jobs', 'manifest_never_changes'), ('jobs', 'approval_and_progress_stand'),
			('job_targets', 'job_targets_are_only_added'), ('job_audit', 'job_audit_is_only_added'),
			('statements', 'statements_are_never_deleted'), ('statements', 'statement_identity_never_changes'),
			('statements', 'statement_checkpoint_only_grows'), ('statement_lines', 'statement_lines_are_only_added'),
			('statement_absences', 'statement_absences_are_never_emptied')
		) g (table_name, trigger_name)
		LEFT JOIN pg_trigger t ON t.tgrelid = to_regclass(g.table_name) AND t.tgname = g.trigger_name
		WHERE $1 <> ''`,
	},
	{
		"the_service_may_not_rewrite_history",
		"The service's role may not delete or truncate, nor change what was written for ever. Of reservations it may delete what it has archived.", `
		SELECT t.table_name || ' ' || p.privilege, 'no', CASE WHEN has_table_privilege('settlementd_service', t.table_name, p.privilege) THEN 'yes' ELSE 'no' END
		FROM unnest('{tenants,accounts,providers,budgets,reservations,archived_reservations,lines,entries,exceptions,jobs,job_targets,job_audit,statements,statement_lines}'::text[])
			t (table_name),
			unnest('{DELETE,TRUNCATE,UPDATE}'::text[]) p (privilege)
		WHERE $1 <> '' AND (t.table_name, p.privilege) <> ('reservations', 'DELETE')`,
	},
}
