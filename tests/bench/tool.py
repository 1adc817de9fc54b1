"""The tool that all loads claim: one policy, so that their figures can be laid side by side."""
POLICY = {'name': 'bench_refund', 'class': 'irreversible', 'ignore': ['/memo'], 'keep': ['/order_id']}
