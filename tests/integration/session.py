"""A database session of an application's own: psql as a co-process, one statement after the other, each answered before the
next. What the server refuses is an SqlError with its SQLSTATE; the session lives on, in whatever transaction it has."""
import os
import re
import subprocess

from harness import PG_CLIENT_BIN, SRC

assert SRC
FIELD, RECORD = '\x1f', '\x1e'


class SqlError(Exception):
    def __init__(self, text):
        super().__init__(text)
        self.sqlstate = re.search(r'ERROR:  (\w{5}):', text).group(1)


class Session:
    def __init__(self, cluster, user='postgres', database='effectd'):
        self.process = subprocess.Popen(
            [os.path.join(PG_CLIENT_BIN, 'psql'), '-XAtqn', '-F', FIELD, '-R', RECORD, '-v', 'VERBOSITY=verbose', '-h', cluster.dir,
             '-p', '5432', '-U', user, '-d', database], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, encoding='utf-8', bufsize=1, cwd='/')
        self.ask("set client_min_messages = 'error'")

    def send(self, statement):
        """Without waiting for its answer."""
        self.process.stdin.write(statement + ';\n\\echo \x1d\n')
        self.process.stdin.flush()

    def answer(self):
        """Rows as tuples of texts; '' is null, too."""
        text = ''
        while not text.endswith('\x1d\n'):
            line = self.process.stdout.readline()
            if not line:
                raise RuntimeError('psql ended: ' + text)
            text += line
        text = text[:-2]
        if re.search(r'^(psql:.*: )?ERROR:  ', text, re.M):
            raise SqlError(text)
        return [tuple(row.split(FIELD)) for row in text.rstrip('\n').split(RECORD)] if text else []

    def ask(self, statement):
        self.send(statement)
        return self.answer()

    def begin_here(self, key, tool='t', namespace='default', fingerprint=None):
        """(decision, effect, token, attempt, result)"""
        print_ = f"'{fingerprint}'" if fingerprint else 'null'
        return self.ask(f"select decision, effect, token, attempt, result from effect.begin_here('{namespace}', '{tool}', '{key}', {print_})")[0]

    def complete_here(self, claim, result='null'):
        self.ask(f"select effect.complete_here('{claim[1]}', '{claim[2]}', '{result}')")

    def close(self):
        if self.process.poll() is None:
            self.process.stdin.close()
            self.process.stdout.close()
            self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
