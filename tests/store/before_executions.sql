-- Rows as a service had them before migration 0006, in all tables that it changes.
INSERT INTO account (id, name, role) VALUES ('usr_1', 'ada', 'user');
INSERT INTO problem (id, revision) VALUES ('prob_sum', repeat('0', 64));
INSERT INTO problem_revision (problem_id, digest, number, title, time_ms, memory_bytes, source_bytes, cases, details)
VALUES ('prob_sum', repeat('0', 64), 1, 'Sum', 1000, 1, 1, 1, '{}');
INSERT INTO submission (id, account_id, problem_id, revision, language, source, state, attempt, priority,
    request_digest, idempotency_key, verdict, runtime_ms, memory_kb, passed_cases, total_cases, failure,
    started_at, finished_at, rejudge_of)
VALUES ('sub_1', 'usr_1', 'prob_sum', repeat('0', 64), 'c', 'x', 'COMPLETED', 1, 1, sha256('1'), 'k', 'Accepted',
        1, 1, 1, 1, NULL, now(), now(), NULL),
       ('sub_2', 'usr_1', 'prob_sum', repeat('0', 64), 'c', 'x', 'RUNNING', 1, 1, sha256('2'), NULL, NULL,
        NULL, NULL, NULL, NULL, NULL, now(), NULL, 'sub_1'),
       ('sub_3', 'usr_1', 'prob_sum', repeat('0', 64), 'c', 'x', 'FAILED', 1, 1, sha256('3'), NULL, NULL,
        NULL, NULL, NULL, NULL, 'no', now(), now(), NULL),
       ('sub_4', 'usr_1', 'prob_sum', repeat('0', 64), 'c', 'x', 'QUEUED', 0, 1, sha256('4'), NULL, NULL,
        NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO submission_event (submission_id, event, state, attempt) VALUES ('sub_1', 'submit', 'PENDING', 0);
INSERT INTO judgement VALUES ('sub_1', 1, '{}', 'x');
INSERT INTO lease (submission_id, attempt, worker_id, lease_s) VALUES ('sub_2', 1, 'wrk_1', 15);
INSERT INTO outbox (submission_id, task, dispatch, attempt) VALUES ('sub_4', 'run', 1, 0);
INSERT INTO dead_letter (submission_id, task, attempt, error) VALUES ('sub_3', 'run', 1, 'no');
INSERT INTO webhook_delivery (id, submission_id, account_id, kind, url)
VALUES ('whd_1', 'sub_1', 'usr_1', 'submission.finished', 'http://example.org');
INSERT INTO webhook_attempt (delivery_id, number, status, took_ms) VALUES ('whd_1', 1, 500, 1);
