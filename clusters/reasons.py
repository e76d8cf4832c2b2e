"""What the CamelCase reasons of steps and plans mean, in the reader's language.

Workers store a reason and a sentence of their own. The sentence is data: it stands beside ours as the detail.
"""

from __future__ import annotations

from django.utils.translation import gettext, gettext_noop

SENTENCES = {
    # while something is made, changed or removed
    "AccountsDiffer": gettext_noop("Accounts are still to be made or mended."),
    "Busy": gettext_noop("Another worker is changing this cluster."),
    "ClusterMissing": gettext_noop("The cluster's folder does not exist yet."),
    "ConfigurationChanged": gettext_noop("Slurm runs with an older configuration."),
    "ControlPlaneMissing": gettext_noop("The control plane is not set up yet."),
    "DaemonsDown": gettext_noop("Some of Slurm's daemons do not run. Jobs that run go on."),
    "DaemonsStarting": gettext_noop("Slurm's daemons are starting."),
    "FabricDiffers": gettext_noop("The switch ports in the VPC are not the cluster's machines."),
    "FolderStays": gettext_noop("A folder could not be removed yet."),
    "IdentityNotShown": gettext_noop("Some accounts were not yet shown to work."),
    "MachinesDiffer": gettext_noop("The site's ledger differs from the allocation."),
    "NodesBusy": gettext_noop("Nodes that leave take no new jobs and go when their jobs end."),
    "NodesDiffer": gettext_noop("The nodes in the API server are not the cluster's machines."),
    "NodesLeaving": gettext_noop("Nodes are being taken out."),
    "NodesNotReady": gettext_noop("Some nodes are not usable yet."),
    "NotStarted": gettext_noop("Slurm is not set up yet."),
    "PasswdLocked": gettext_noop("The system's user files are in use."),
    "Removing": gettext_noop("It is being removed."),
    "SmokeJobMissing": gettext_noop("No test job is on its way."),
    "SmokeJobWaits": gettext_noop("The test job has not ended yet."),
    "StillStopping": gettext_noop("Some processes of the cluster still end."),
    # trouble that may pass by itself
    "LocalMachine": gettext_noop("The machine refused something."),
    "MachineTaken": gettext_noop("Something still belongs to another cluster at this site."),
    "NoCapacity": gettext_noop("The site has too few free machines."),
    "PortInUse": gettext_noop("Something else listens on a port of the cluster."),
    "ProbeLost": gettext_noop("A probe job is not to be seen."),
    "SlurmNotAnswering": gettext_noop("Slurm does not answer."),
    "SlurmUnknown": gettext_noop("The address of the cluster's Slurm API is not known yet."),
    # control planes, objects in them, and the fabric
    "AccessNotGranted": gettext_noop("The portal's access to the API server is not granted yet."),
    "BadAddress": gettext_noop("The address of the API server cannot be used."),
    "BadCertificate": gettext_noop("A certificate for the API server is not readable."),
    "BadSiteSettings": gettext_noop("A setting of the site cannot be used."),
    "CaMissing": gettext_noop("The API server's own CA certificate is missing."),
    "Conflict": gettext_noop("Something else manages a field that Freehold sets."),
    "ControlPlaneChanged": gettext_noop("The control plane runs with an older configuration."),
    "ControlPlaneDown": gettext_noop("Some programs of the control plane do not run."),
    "ControlPlaneStarting": gettext_noop("The control plane is starting."),
    "FabricBusy": gettext_noop("The fabric controller could not do this now."),
    "FabricFailed": gettext_noop("The fabric controller reports a failure."),
    "FabricNotAnswering": gettext_noop("The fabric controller does not answer."),
    "FabricNotReachable": gettext_noop("The fabric controller cannot be reached."),
    "FabricNotReady": gettext_noop("The fabric is not ready yet."),
    "FabricRefused": gettext_noop("The fabric controller refused a change."),
    "FabricTwice": gettext_noop("The fabric controller has this cluster more than once."),
    "FabricUnknown": gettext_noop("The fabric controller does not know something that is needed."),
    "Finalizer": gettext_noop("Something outside still holds an object that is to go."),
    "Forbidden": gettext_noop("The portal may not do this there."),
    "Invalid": gettext_noop("An object was refused as invalid."),
    "KindMissing": gettext_noop("The API server does not know a kind of object that is needed."),
    "MachineElsewhere": gettext_noop("Machines of this cluster are in another server cluster too."),
    "MarkLost": gettext_noop("Something of the cluster has lost Freehold's mark, so it is not touched."),
    "NamespaceEnding": gettext_noop("The namespace is still ending."),
    "NoAccessYet": gettext_noop("The portal has no access to the cluster's API server yet."),
    "NotReachable": gettext_noop("It cannot be reached."),
    "NotSeenYet": gettext_noop("Its controller has not looked at it yet."),
    "NotSynced": gettext_noop("It is not synchronised yet."),
    "PartialListing": gettext_noop("A list was not complete."),
    "PrefixIgnored": gettext_noop("Other addresses were used than those meant for this cluster."),
    "PrefixInUse": gettext_noop("The addresses of this cluster are already in use."),
    "PrefixMissing": gettext_noop("The cluster has no addresses of its own at this site."),
    "PrefixOverlaps": gettext_noop("Addresses of this cluster are also used by another one."),
    "PrefixTooSmall": gettext_noop("The cluster's addresses are too few."),
    "PrefixesExhausted": gettext_noop("The site has no addresses left for another cluster."),
    "ReplicasNotReady": gettext_noop("Some of its instances are not ready yet."),
    "SecretMissing": gettext_noop("The portal has no credential that is needed."),
    "ServerUnknown": gettext_noop("Machines of this cluster are not known there."),
    "SiteUnknown": gettext_noop("The site is not known there."),
    "StackNotServed": gettext_noop("The site has no driver for this stack."),
    "StillInUse": gettext_noop("Something still uses what is to change."),
    "SyncFailed": gettext_noop("Synchronising it failed."),
    "TemplateWantsGateways": gettext_noop("The template asks for gateways that the site does not send."),
    "Unauthorized": gettext_noop("The portal's credential was not accepted there."),
    "VpcShared": gettext_noop("The cluster's VPC is not its own: the wall between tenants is missing."),
    # what needs a person
    "BadDataFolder": gettext_noop("The data folder's path cannot be used."),
    "BadName": gettext_noop("A name cannot be used by the driver. Nothing was written."),
    "BadPlan": gettext_noop("The steps of the site's drivers do not fit together."),
    "DeadlinePassed": gettext_noop("It was not done in time."),
    "GidTaken": gettext_noop("The cluster's group id belongs to another group."),
    "GivenUp": gettext_noop("The operators gave it up."),
    "InternalError": gettext_noop("An error that nobody foresaw was met. It was logged and is tried again."),
    "KeyMissing": gettext_noop("The cluster has no usable key for Slurm tokens."),
    "LocalInProduction": gettext_noop("The local drivers do not run in production."),
    "NameTaken": gettext_noop("Something that Freehold did not make has the name. It was left as it is."),
    "NoCluster": gettext_noop("The order names no cluster."),
    "NoDriver": gettext_noop("The site names a driver that this release does not have."),
    "NoServiceAccount": gettext_noop("The cluster has no account of ours for test jobs."),
    "NotEnoughPorts": gettext_noop("The cluster has too few ports."),
    "NotInstalled": gettext_noop("A program that is needed is not installed."),
    "KubeAssetsMissing": gettext_noop("The machine lacks the Kubernetes programs. Jobs run without them."),
    "SmokeJobFailed": gettext_noop("Test jobs did not do what they should."),
    "UidTaken": gettext_noop("A user id belongs to somebody else. Nothing was changed."),
    "UserToolFailed": gettext_noop("A tool for user accounts failed."),
    "UserToolMissing": gettext_noop("A tool for user accounts is not installed."),
    "WrongIdentity": gettext_noop("The cluster runs jobs of an account as somebody else."),
}


def sentence_of(reason: str) -> str:
    """What a reason means; "" for one that nobody described."""
    known = SENTENCES.get(reason)
    return gettext(known) if known else ""


def explain(reason: str, stored: str) -> str:
    """The reason's sentence with the stored text as its detail; the stored text alone where we know none."""
    sentence = sentence_of(reason)
    if not sentence or not stored or stored == SENTENCES[reason]:
        return sentence or stored
    return f"{sentence} {stored}"
