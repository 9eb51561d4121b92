"""The heads of the bundled price files: who says so, since when, and how the provider bills."""

from __future__ import annotations

AWS = """\
# On-demand Linux prices; built by catalogs/build.py. docs/catalogs.md explains every key.
catalog: aws
provider: aws
region: {region}
currency: USD
shapes: aws.shapes.yaml
date: {date}
source: "{source}"
spot:
  date: {spot_date}
  estimated: true
  source: "{spot_source}"
billing:
  granularity_seconds: 1
  minimum_seconds: 60
  startup_seconds: 210
  startup_note: "EMR on EC2, by a published adviser; taken to be billed in full"
  master: m5.xlarge
  surcharge_fraction: {share}
  surcharge_assumed: true
  surcharge_note: "EMR's fee above the machines' price, as quoted for 6 types"
  discount_fraction: 0
memory_rule: {{kind: emr-yarn}}
managed_only: true
note: "EC2 on-demand Linux prices in {region}; spot prices are estimates"
"""

PAPERS = """\
# The types that the published systems used, at the prices of their time (catalogs/build.py).
catalog: papers
provider: aws
region: {region}
currency: USD
shapes: papers.shapes.yaml
date: {date}
source: "{source}"
billing:
  granularity_seconds: 0
  minimum_seconds: 0
  startup_seconds: 0
  surcharge_fraction: 0
  discount_fraction: 0
memory_rule: {{kind: share, share: 0.8}}
managed_only: false
filtered_by_default: false
historic: true
note: "EC2 types at the prices of their papers; workers only, exactly the time that ran"
"""

GCP = """\
# On-demand prices of Compute Engine, run as Dataproc; built by catalogs/build.py.
catalog: gcp
provider: gcp
region: {region}
currency: USD
shapes: gcp.shapes.yaml
date: {date}
source: "{source}"
billing:
  granularity_seconds: 1
  minimum_seconds: 60
  startup_note: "how long a Dataproc cluster takes to start is not known here"
  master: n2-standard-4
  master_note: "one master node beside the workers"
  surcharge_usd_per_vcpu_hour: 0.01
  surcharge_note: "Dataproc's published price for every vCPU of workers and master, in stored \
copies of its price page, one of 2020-10-14"
  discount_fraction: 0
memory_rule: {{kind: share, share: 0.8, yarn: true, note: "a published tool leaves 20 % of a \
Dataproc node to what is not an executor; assumed"}}
note: "Compute Engine prices in {region} with Dataproc's fee; spot prices for n2d only"
"""

AZURE = """\
# Pay-as-you-go Linux prices of Azure virtual machines; built by catalogs/build.py.
catalog: azure
provider: azure
region: {region}
currency: USD
shapes: azure.shapes.yaml
date: {date}
source: "{source}"
spot:
  estimated: true
  source: "{spot_source}"
billing:
  granularity_seconds: 1
  startup_note: "how long a cluster takes to start is not known here"
  master: Standard_D4ds_v5
  master_note: "one head node beside the workers; no managed service is priced"
  discount_fraction: 0
memory_rule: {{kind: databricks, note: "its published formula; assumed for any service"}}
note: "virtual machines in {region} alone, no managed service: azure-databricks adds DBUs"
"""

AZURE_DATABRICKS = """\
# Azure virtual machines of the types whose DBUs are known; built by catalogs/build.py.
catalog: azure-databricks
provider: azure
region: {region}
currency: USD
shapes: azure.shapes.yaml
date: {date}
source: "{source}"
spot:
  estimated: true
  source: "{spot_source}"
dbu:
  tier: premium-jobs
  date: {dbu_date}
  source: "{dbu_source}"
dbu_tiers: |
  name,usd_per_dbu,date,source
  premium-jobs,{usd_per_dbu},{dbu_date},"{dbu_source}"
billing:
  granularity_seconds: 1
  startup_note: "how long a Databricks cluster takes to start is not known here"
  master: Standard_D4ds_v5
  master_note: "one driver node beside the workers"
  discount_fraction: 0
memory_rule: {{kind: databricks, note: "its published formula"}}
note: "virtual machines in {region} and the DBUs of Databricks jobs without Photon; DBUs of \
{dbu_date}"
"""
